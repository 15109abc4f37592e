/* Holds a pod's namespaces. */
#include <unistd.h>

int main(void) {
  for (;;) pause();
}
