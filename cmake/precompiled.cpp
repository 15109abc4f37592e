// Exists because CMake needs a source file in the target that compiles the precompiled header.
