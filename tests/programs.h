#pragma once

// What the tests take from this checkout. These are variables and no macros, so that a test
// compiles to the same object in every checkout and ccache can share it (tests/CMakeLists.txt
// defines them).
namespace berth::test {

extern const char* const berthd_program;
extern const char* const berth_program;
extern const char* const smtp_server;  // process/smtp_server.py
extern const char* const source_dir;

}  // namespace berth::test
