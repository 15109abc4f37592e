# The hardening flags that Debian and Fedora build their packages with. `scripts/check-hardening.sh` checks the finished
# programs for them. BERTH_HARDENING=OFF exists for the benchmark that measures what they cost.
option(BERTH_HARDENING "build with the hardening flags that distributions use" ON)
if(BERTH_HARDENING)
  # berth builds no shared libraries. -fPIE, unlike CMake's -fPIC, lets the compiler inline within a file.
  add_compile_options(-fPIE -fstack-protector-strong -fstack-clash-protection -Wformat -Werror=format-security)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    add_compile_options(-fcf-protection)
  endif()
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  # FORTIFY_SOURCE needs optimization, and the sanitizers replace the functions that it would check.
  if(NOT CMAKE_BUILD_TYPE STREQUAL Debug AND NOT BERTH_SANITIZE)
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  endif()
  add_link_options(-pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code)
endif()
# mold links a test program in a fraction of the time that GNU ld takes; scripts/install-deps.sh installs it. A cross
# compiler finds only its own linkers.
find_program(MOLD mold)
if(MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()
