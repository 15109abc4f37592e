#include "api/console/sample.h"

#include <cstddef>

// The assembler takes the bytes from the file, because a literal of this size is slow to compile.
__asm__(R"(
.section .rodata
.global berth_sample
.global berth_sample_end
berth_sample:
.incbin ")" BERTH_SAMPLE R"("
berth_sample_end:
.byte 0
.text
)");
extern "C" const char berth_sample[], berth_sample_end[];

namespace berth::api::console {

std::string_view sample() { return {berth_sample, std::size_t(berth_sample_end - berth_sample)}; }

}  // namespace berth::api::console
