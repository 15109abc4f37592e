// berthd backup, restore and verify, as an operator uses them.
#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/process/client.h"
#include "tests/process/random.h"
#include "tests/programs.h"

using namespace berth::process;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr int failed = 1;
constexpr int refused_configuration = 2;
constexpr int refused_data_dir = 3;

struct Desk {
  TempDir dir;
  std::string passphrase_file = dir.write("passphrase", "correct horse battery staple\n").string();
  std::string archive = (dir.path() / "berth.backup").string();

  Flags backup(const Berthd& berthd) const {
    return {"backup",        archive,      "--passphrase-file",
            passphrase_file, "--data-dir", berthd.data_dir().string()};
  }
  Flags backup_again(const Berthd& berthd) const {
    Flags flags = backup(berthd);
    flags.emplace_back("--replace");
    return flags;
  }
  Flags restore(const fs::path& data_dir) const {
    return {"restore",       archive,      "--passphrase-file",
            passphrase_file, "--data-dir", data_dir.string()};
  }
  Flags verify() const { return {"verify", archive, "--passphrase-file", passphrase_file}; }
};

void check_works(const Flags& flags) {
  const Ended ended = run_to_end(flags);
  INFO(ended.output);
  CHECK(ended.code == 0);
}

void check_refused(int code, const Flags& flags, const std::string& text) {
  const Ended ended = run_to_end(flags);
  INFO(ended.output);
  CHECK(ended.code == code);
  CHECK_THAT(ended.output, Contains(text));
}

std::int64_t treasury(const Berthd& berthd) {
  return expect(200, Client(berthd).get("/api/internal/treasury", admin(berthd)))
      .body.at("balance");
}

void mint(const Berthd& berthd, Client& client) {
  const json body = {{"account", {{"kind", "treasury"}}}, {"amount", 1}, {"reason", "test"}};
  expect(201, client.post("/api/internal/points/mint", body, admin(berthd)));
}

bool is_private(const fs::path& file) {
  constexpr auto others = fs::perms::group_all | fs::perms::others_all;
  return (fs::status(file).permissions() & others) == fs::perms::none;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a backup of a running berthd restores everything") {
  Berthd berthd(open_flags());
  Operator owner = operator_with_token(berthd, "ada");
  const std::string id = deploy(owner.api, order("old"));
  wait_until_status(owner.api, id, "running");
  const Desk desk;
  check_works(desk.backup(berthd));
  check_works(desk.verify());
  CHECK(is_private(desk.archive));
  // None of the data can be read in the archive.
  CHECK(text_of(desk.archive).find("ada@") == std::string::npos);
  CHECK_FALSE(fs::exists(desk.archive + ".partial"));
  CHECK_FALSE(fs::exists(berthd.data_dir() / "berth.db.copy"));

  const std::string younger = deploy(owner.api, order("younger"));
  wait_until_status(owner.api, younger, "running");
  CHECK(berthd.terminate() == 0);
  fs::remove_all(berthd.data_dir());
  check_works(desk.restore(berthd.data_dir()));
  berthd.start();
  // The session key was restored, too: the token is still valid, and the deployment runs again.
  CHECK(wait_until_status(owner.api, id, "running").at("status") == "running");
  CHECK(eventually([&] { return page_of(berthd, "old").status == 200; }));
  CHECK(owner.api.get("/api/deploy/apps/" + younger).status == 404);
  CHECK_NOTHROW(log_in(berthd, owner.user));
  check_works({"verify", "--data-dir", berthd.data_dir().string()});
}

TEST_CASE("a backup under load contains what was answered before it, and disturbs nobody") {
  Berthd berthd({"--rate-limits", "off"});
  std::atomic<int> answered = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> minters;
  for (int i = 0; i < 4; ++i)
    minters.emplace_back([&] {
      Client client(berthd);
      while (!stop) {
        mint(berthd, client);
        ++answered;
      }
    });
  const std::int64_t genesis = 1'000'000'000;
  for (int round = 0; round < 3; ++round) {
    const Desk desk;
    CHECK(eventually([&, goal = answered + 50] { return answered >= goal; }));
    const int before = answered;
    check_works(desk.backup(berthd));
    const int after = answered;
    CHECK(after > before);
    check_works(desk.verify());
    const fs::path place = desk.dir.path() / "data";
    check_works(desk.restore(place));
    const Ended verified = run_to_end({"verify", "--data-dir", place.string()});
    INFO(verified.output);
    CHECK(verified.code == 0);
    CHECK_THAT(verified.output, Contains("ok    audit log: "));
    // One transaction for the genesis, and one for each mint.
    const std::string text = "ok    ledger: each transaction's postings sum to 0: ";
    const size_t at = verified.output.find(text);
    REQUIRE(at != std::string::npos);
    const int transactions = std::stoi(verified.output.substr(at + text.size()));
    CHECK(transactions >= before + 1);
    CHECK(transactions <= after + 1 + int(minters.size()));
  }
  stop = true;
  for (std::thread& minter : minters) minter.join();
  CHECK(treasury(berthd) == genesis + answered);
}

TEST_CASE("a backup that is killed at any moment leaves the old archive or a complete new one") {
  const unsigned chosen = seed();
  WARN("BERTH_SEED=" << chosen);
  Random random = random_of(chosen);
  Berthd berthd;
  const Desk desk;
  check_works(desk.backup(berthd));
  std::string before = text_of(desk.archive);
  for (int round = 0; round < 8; ++round) {
    {
      Process backup(berth::test::berthd_program, desk.backup_again(berthd),
                     desk.dir.path() / "log");
      backup.wait(up_to(random, 500));
    }  // kills it with SIGKILL
    const std::string now = text_of(desk.archive);
    if (now != before) check_works(desk.verify());
    before = now;
  }
  check_works(desk.backup_again(berthd));  // nothing blocks it
  CHECK(text_of(desk.archive) != before);
}

TEST_CASE("if berthd ends during a backup, no incomplete archive is left") {
  const unsigned chosen = seed();
  WARN("BERTH_SEED=" << chosen);
  Random random = random_of(chosen);
  Berthd berthd;
  for (const int signal : {SIGKILL, SIGTERM, SIGKILL, SIGTERM}) {
    const Desk desk;
    Process backup(berth::test::berthd_program, desk.backup(berthd), desk.dir.path() / "log");
    std::this_thread::sleep_for(up_to(random, 300));
    if (signal == SIGKILL)
      berthd.kill();
    else
      CHECK(berthd.terminate() == 0);
    const auto code = backup.wait(patience);
    INFO(desk.dir.read("log"));
    REQUIRE(code);
    CHECK(fs::exists(desk.archive) == (*code == 0));
    if (*code == 0) check_works(desk.verify());
    CHECK_FALSE(fs::exists(desk.archive + ".partial"));
    berthd.start();
    CHECK_FALSE(fs::exists(berthd.data_dir() / "berth.db.copy"));
  }
}

TEST_CASE("an archive that exists is replaced only if that is wanted") {
  Berthd berthd;
  const Desk desk;
  check_works(desk.backup(berthd));
  const std::string first = text_of(desk.archive);
  check_refused(refused_configuration, desk.backup(berthd),
                desk.archive + " exists already; name another file, or add --replace");
  CHECK(text_of(desk.archive) == first);
  CHECK_FALSE(fs::exists(desk.archive + ".partial"));
  check_works(desk.backup_again(berthd));
  CHECK(text_of(desk.archive) != first);
  check_works(desk.verify());
}

TEST_CASE("bad arguments are refused, with a reason and an exit code") {
  Berthd berthd;
  const Desk desk;
  const std::string data = berthd.data_dir().string();
  const std::string nowhere = (desk.dir.path() / "nowhere").string();
  const std::string short_file = desk.dir.write("short", "tiny\n").string();
  check_refused(refused_configuration, {"backup", desk.archive, "--data-dir", data},
                "--passphrase-file");
  check_refused(refused_configuration, {"backup", "--passphrase-file", desk.passphrase_file},
                "FILE");
  check_refused(refused_configuration,
                {"backup", desk.archive, "--passphrase-file", short_file, "--data-dir", data},
                "12 bytes");
  check_refused(refused_configuration,
                {"backup", desk.archive, "--passphrase-file", nowhere, "--data-dir", data},
                "nowhere");
  check_refused(
      refused_configuration,
      {"backup", desk.archive, "--passphrase-file", desk.passphrase_file, "--data-dir", nowhere},
      "no berthd runs");
  check_refused(failed,
                {"backup", desk.archive, "--passphrase-file", desk.passphrase_file, "--data-dir",
                 data, "--internal-secret", "not the secret at all"},
                "403");
  check_refused(failed,
                {"backup", desk.archive, "--passphrase-file", desk.passphrase_file, "--data-dir",
                 data, "--url", "http://127.0.0.1:1"},
                "127.0.0.1:1");
  CHECK_FALSE(fs::exists(desk.archive));
  CHECK_FALSE(fs::exists(desk.archive + ".partial"));

  check_works(desk.backup(berthd));
  check_refused(refused_data_dir, desk.restore(data), "");
  const fs::path place = desk.dir.path() / "place";
  const std::string wrong = desk.dir.write("wrong", "another passphrase\n").string();
  const Flags with_wrong = {"restore", desk.archive, "--passphrase-file",
                            wrong,     "--data-dir", place.string()};
  check_refused(failed, with_wrong, "passphrase is wrong");
  CHECK_FALSE(fs::exists(place));
  check_refused(failed, {"verify", desk.archive, "--passphrase-file", wrong}, "passphrase");
  check_refused(failed, {"verify", desk.passphrase_file}, "FAIL");
  check_refused(refused_configuration, {"backup", desk.archive, "--unheard-of", "x"}, "unheard-of");
}

TEST_CASE("a directory keeps as many archives as wanted") {
  Berthd berthd;
  const Desk desk;
  const fs::path store = desk.dir.path() / "store";
  fs::create_directory(store);
  for (const char* day : {"20240101T000000Z", "20240102T000000Z", "20240103T000000Z"})
    std::ofstream(store / ("berth-" + std::string(day) + ".backup")) << "old";
  std::ofstream(store / "notes.txt") << "mine";
  check_works({"backup", store.string(), "--keep", "2", "--passphrase-file", desk.passphrase_file,
               "--url", berthd.base_url(), "--internal-secret-file",
               (berthd.data_dir() / "internal-secret").string()});
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(store))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() == 3);
  CHECK(names[0] == "berth-20240103T000000Z.backup");
  CHECK(names[2] == "notes.txt");
  check_works({"verify", (store / names[1]).string(), "--passphrase-file", desk.passphrase_file});
}

TEST_CASE("verify finds a ledger that was changed behind berthd's back") {
  Berthd berthd;
  CHECK(berthd.terminate() == 0);
  check_works({"verify", "--data-dir", berthd.data_dir().string()});
  const std::string database = (berthd.data_dir() / "berth.db").string();
  std::string bytes = text_of(database);
  // The treasury's balance in its row. The same number is in the posting.
  const std::string row = "treasurytreasury";
  size_t at = bytes.rfind(row);
  REQUIRE(at != std::string::npos);
  bytes[at + row.size() + 3] = char(bytes[at + row.size() + 3] ^ 1);
  std::ofstream(database, std::ios::binary) << bytes;
  const Ended ended = run_to_end({"verify", "--data-dir", berthd.data_dir().string()});
  INFO(ended.output);
  CHECK(ended.code == failed);
  CHECK_THAT(ended.output, Contains("FAIL  ledger: all balances sum to 0"));
  CHECK_THAT(ended.output, Contains("FAIL  ledger: each balance is the sum of its postings"));
}

TEST_CASE("a backup is logged, and its secrets aren't") {
  Berthd berthd({"--log-level", "debug"});
  const Desk desk;
  check_works(desk.backup(berthd));
  CHECK_THAT(berthd.log_text(), Contains("a backup was requested"));
  CHECK_THAT(berthd.log_text(), !Contains("correct horse"));
  CHECK_THAT(berthd.log_text(), !Contains(berthd.internal_secret()));
  // Only the owner may read what is in the data directory.
  for (const auto& entry : fs::directory_iterator(berthd.data_dir())) {
    INFO(entry.path());
    CHECK(is_private(entry.path()));
  }
  const Answer refused =
      Client(berthd).post("/api/internal/backup", {{"key", "short"}}, admin(berthd));
  CHECK(refused.status == 422);
  CHECK(Client(berthd).post("/api/internal/backup", {{"key", "short"}}).status == 403);
}
