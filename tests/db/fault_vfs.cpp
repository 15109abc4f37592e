#include "tests/db/fault_vfs.h"

#include <stdexcept>

namespace berth::test {

// An open log. The default VFS's file follows directly after this struct in memory.
struct FaultFile {
  sqlite3_file base;
  FaultVfs* vfs;

  static FaultFile& of(sqlite3_file* file) { return *reinterpret_cast<FaultFile*>(file); }
  static sqlite3_file* real(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(&of(file) + 1);
  }
  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
    const int code = of(file).vfs->next(FaultVfs::Operation::write);
    return code != SQLITE_OK ? code : real(file)->pMethods->xWrite(real(file), from, size, offset);
  }
  static int sync(sqlite3_file* file, int flags) {
    const int code = of(file).vfs->next(FaultVfs::Operation::sync);
    return code != SQLITE_OK ? code : real(file)->pMethods->xSync(real(file), flags);
  }
};

namespace {

sqlite3_vfs& original() { return *sqlite3_vfs_find(nullptr); }

// Version 1 of the interface. Memory mapping and shared memory concern the main file, which isn't
// wrapped.
const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose =
        [](sqlite3_file* f) { return FaultFile::real(f)->pMethods->xClose(FaultFile::real(f)); },
    .xRead =
        [](sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
          return FaultFile::real(f)->pMethods->xRead(FaultFile::real(f), to, size, at);
        },
    .xWrite = FaultFile::write,
    .xTruncate =
        [](sqlite3_file* f, sqlite3_int64 size) {
          return FaultFile::real(f)->pMethods->xTruncate(FaultFile::real(f), size);
        },
    .xSync = FaultFile::sync,
    .xFileSize =
        [](sqlite3_file* f, sqlite3_int64* size) {
          return FaultFile::real(f)->pMethods->xFileSize(FaultFile::real(f), size);
        },
    .xLock = [](sqlite3_file* f,
                int kind) { return FaultFile::real(f)->pMethods->xLock(FaultFile::real(f), kind); },
    .xUnlock =
        [](sqlite3_file* f, int kind) {
          return FaultFile::real(f)->pMethods->xUnlock(FaultFile::real(f), kind);
        },
    .xCheckReservedLock =
        [](sqlite3_file* f, int* held) {
          return FaultFile::real(f)->pMethods->xCheckReservedLock(FaultFile::real(f), held);
        },
    .xFileControl =
        [](sqlite3_file* f, int operation, void* argument) {
          return FaultFile::real(f)->pMethods->xFileControl(FaultFile::real(f), operation,
                                                            argument);
        },
    .xSectorSize =
        [](sqlite3_file* f) {
          return FaultFile::real(f)->pMethods->xSectorSize(FaultFile::real(f));
        },
    .xDeviceCharacteristics =
        [](sqlite3_file* f) {
          return FaultFile::real(f)->pMethods->xDeviceCharacteristics(FaultFile::real(f));
        },
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

}  // namespace

FaultVfs::FaultVfs() : name_("berth-fault"), vfs_(original()) {
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.pNext = nullptr;
  vfs_.szOsFile = int(sizeof(FaultFile)) + original().szOsFile;
  vfs_.xOpen = open;
  if (sqlite3_vfs_register(&vfs_, 0) != SQLITE_OK)
    throw std::runtime_error("the VFS can't be registered");
}

FaultVfs::~FaultVfs() { sqlite3_vfs_unregister(&vfs_); }

int FaultVfs::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                   int* out_flags) {
  sqlite3_vfs& real_vfs = original();
  if ((flags & SQLITE_OPEN_WAL) == 0)
    return real_vfs.xOpen(&real_vfs, name, file, flags, out_flags);
  FaultFile::of(file).base.pMethods = nullptr;
  FaultFile::of(file).vfs = static_cast<FaultVfs*>(vfs->pAppData);
  const int result = real_vfs.xOpen(&real_vfs, name, FaultFile::real(file), flags, out_flags);
  if (result == SQLITE_OK) FaultFile::of(file).base.pMethods = &methods;
  return result;
}

void FaultVfs::fail(Operation operation, int nth, int sqlite_code, Lasting lasting) {
  const std::lock_guard lock(mutex_);
  operation_ = operation;
  remaining_ = nth;
  code_ = sqlite_code;
  lasting_ = lasting;
  failures_ = 0;
}

void FaultVfs::heal() {
  const std::lock_guard lock(mutex_);
  remaining_ = 0;
}

int FaultVfs::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

int FaultVfs::next(Operation operation) {
  const std::lock_guard lock(mutex_);
  if (remaining_ == 0 || operation != operation_) return SQLITE_OK;
  if (remaining_ > 1) {
    --remaining_;
    return SQLITE_OK;
  }
  if (lasting_ == Lasting::once) remaining_ = 0;
  ++failures_;
  return code_;
}

}  // namespace berth::test
