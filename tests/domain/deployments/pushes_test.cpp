// Deployments that follow the tag of their image.
#include "controller/domain/deployments/pushes.h"

#include <catch2/catch.hpp>

#include "controller/domain/deployments/rollback.h"
#include "controller/domain/deployments/runs/releases.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Change;
using deployments::ContainerSpec;
using deployments::Deployment;
using deployments::Observation;
using deployments::Reason;
using deployments::Status;

std::string digest(char c) { return "sha256:" + std::string(64, c); }

struct Fixture : DomainWorld {
  Deployment row = deploy(adas, [] {
    auto wanted = order();
    wanted.container.image = "ghcr.io/acme/web:main";
    wanted.container.auto_deploy = true;
    return wanted;
  }());

  Deployment now() { return find_deployment(row.id); }
  void runs(char image) {
    Observation seen;
    seen.status = Status::running;
    seen.image_digest = "ghcr.io/acme/web@" + digest(image);
    record(row.id, now().generation, seen);
  }
  void fails(Reason cause, Reason reason = Reason::rollout_failed) {
    Observation seen;
    seen.status = reason == Reason::rollout_failed ? Status::running : Status::errored;
    seen.reason = reason;
    if (reason == Reason::rollout_failed) seen.cause = cause;
    record(row.id, now().generation, seen);
  }
  std::vector<pushes::Question> due() {
    return read([&](db::Tx& tx) { return pushes::due(tx, 10, keys.data); });
  }
  // Answers what is due, after time has passed until it is.
  bool answered(char image) {
    clock.advance(pushes::asked_every);
    const auto questions = due();
    REQUIRE(questions.size() == 1);
    return write([&](db::Tx& tx) {
      return pushes::record(tx, questions.front(), {.digest = digest(image), .error = {}}, rules);
    });
  }
  pushes::View view() {
    return read([&](db::Tx& tx) { return pushes::view(tx, row.id).value(); });
  }
  pushes::Verdict judged() {
    const auto ids = read([](db::Tx& tx) { return pushes::to_judge(tx, 10); });
    if (ids.empty()) return pushes::Verdict::waits;
    return write([&](db::Tx& tx) { return pushes::judge(tx, row.id, rules, keys.data); });
  }
  // The first image runs, and its tag was seen once.
  void begin() {
    runs('a');
    REQUIRE_FALSE(answered('a'));
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture,
                 "a new digest of the tag is rolled out, the first one and the same aren't",
                 "[pushes_test]") {
  runs('a');
  const auto before = now().generation;
  CHECK_FALSE(answered('a'));
  CHECK_FALSE(answered('a'));
  CHECK(now().generation == before);
  CHECK(answered('b'));
  CHECK(now().generation == before + 1);
  CHECK(now().status == Status::deploying);
  CHECK(now().rollout == 1);
  CHECK(view().trial_until == clock.now() + pushes::trial_time);
  CHECK_FALSE(answered('b'));
}

TEST_CASE_METHOD(Fixture, "a new image that fails is rolled back and never rolled out again",
                 "[pushes_test]") {
  begin();
  REQUIRE(answered('b'));
  CHECK(judged() == pushes::Verdict::waits);
  const auto cause = GENERATE(Reason::crash_loop, Reason::image_pull_failed);
  const bool serves = GENERATE(true, false);
  fails(cause, serves ? Reason::rollout_failed : cause);
  if (cause == Reason::image_pull_failed) {
    clock.advance(pushes::pull_tried_for - 1ms);
    CHECK(judged() == pushes::Verdict::waits);
    clock.advance(1ms);
  }
  const auto failed = now().generation;
  CHECK(judged() == pushes::Verdict::rolled_back);
  CHECK(now().generation == failed + 1);
  CHECK(now().container.image == "ghcr.io/acme/web:main@" + digest('a'));
  CHECK(view().rejected == std::vector<std::string>{digest('b')});
  CHECK(read([](db::Tx& tx) {
          return tx.number("SELECT count(*) FROM outbox WHERE subject LIKE '%was rolled back'");
        }) == 1);
  runs('a');
  // The tag goes to and fro between the two.
  for (int i = 0; i < 5; ++i) {
    CHECK_FALSE(answered('b'));
    CHECK_FALSE(answered('a'));
  }
  CHECK(now().generation == failed + 1);
  // A third one is tried, from the tag.
  CHECK(answered('c'));
  CHECK(now().container.image == "ghcr.io/acme/web:main");
}

TEST_CASE_METHOD(Fixture, "who pushes broken images all day gets a mail now and then",
                 "[pushes_test]") {
  const auto mails = [&] {
    return read([](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM outbox WHERE subject LIKE '%was rolled back'");
    });
  };
  const auto entries = [&] {
    return std::ranges::count_if(logs(row.id), [](const deployments::LogEntry& entry) {
      return entry.details && entry.details->find(R"("kind":"push")") != std::string::npos &&
             entry.status == deployments::LogStatus::failed;
    });
  };
  begin();
  for (const char image : {'b', 'c', 'd', 'e'}) {
    REQUIRE(answered(image));
    fails(Reason::crash_loop);
    REQUIRE(judged() == pushes::Verdict::rolled_back);
    runs('a');
  }
  CHECK(mails() == 1);
  CHECK(entries() == 4);
  clock.advance(pushes::mailed_every);
  REQUIRE(answered('f'));
  fails(Reason::crash_loop);
  REQUIRE(judged() == pushes::Verdict::rolled_back);
  CHECK(mails() == 2);
}

TEST_CASE_METHOD(Fixture, "an image that doesn't run in its time is rolled back", "[pushes_test]") {
  begin();
  REQUIRE(answered('b'));
  clock.advance(pushes::trial_time);
  CHECK(judged() == pushes::Verdict::rolled_back);
}

TEST_CASE_METHOD(Fixture, "an image that never runs is rolled back, though the old one serves",
                 "[pushes_test]") {
  begin();
  REQUIRE(answered('b'));
  fails(Reason::quota_exceeded);
  CHECK(judged() == pushes::Verdict::waits);
  clock.advance(pushes::trial_time);
  CHECK(judged() == pushes::Verdict::rolled_back);
}

TEST_CASE_METHOD(Fixture, "a long release command doesn't use up the time of the trial",
                 "[pushes_test]") {
  begin();
  Change wanted;
  wanted.set(&ContainerSpec::release_command, deployments::Texts{"./migrate"});
  change(adas, row.id, wanted);
  REQUIRE(answered('b'));
  const auto release = write([&](db::Tx& tx) { return releases::begin(tx, row.id); });
  REQUIRE(release.state == releases::State::under_way);
  for (int i = 0; i < 3; ++i) {
    clock.advance(pushes::trial_time);
    CHECK(judged() == pushes::Verdict::waits);
    CHECK(view().trial_until == clock.now() + pushes::trial_time);
  }
  write([&](db::Tx& tx) {
    runs::record(tx, release.run->id, {.end = runs::End{.at = tx.now(), .exit_code = 0}});
  });
  clock.advance(pushes::trial_time);
  CHECK(judged() == pushes::Verdict::rolled_back);
}

TEST_CASE_METHOD(Fixture, "an image isn't rejected for a release that failed without its fault",
                 "[pushes_test]") {
  begin();
  Change wanted;
  wanted.set(&ContainerSpec::release_command, deployments::Texts{"./migrate"});
  change(adas, row.id, wanted);
  REQUIRE(answered('b'));
  const auto release = write([&](db::Tx& tx) { return releases::begin(tx, row.id); });
  const auto why = GENERATE(runs::Reason::points_missing, runs::Reason::lost,
                            runs::Reason::cancelled_by_owner, runs::Reason::command_failed);
  write([&](db::Tx& tx) {
    runs::record(tx, release.run->id, {.end = runs::End{.at = tx.now(), .reason = why}});
  });
  Observation seen;
  seen.status = Status::running;
  seen.reason = Reason::release_failed;
  record(row.id, now().generation, seen);
  const bool is_to_blame = why == runs::Reason::command_failed;
  CHECK(judged() == (is_to_blame ? pushes::Verdict::rolled_back : pushes::Verdict::passed));
  CHECK(view().rejected.size() == (is_to_blame ? 1 : 0));
  CHECK_FALSE(view().trial_until);
}

TEST_CASE_METHOD(Fixture, "a trial isn't looked at all the time because of a domain's trouble",
                 "[pushes_test]") {
  begin();
  REQUIRE(answered('b'));
  Observation seen;
  seen.status = Status::running;
  seen.reason = Reason::certificate_pending;
  record(row.id, now().generation, seen);
  CHECK(read([](db::Tx& tx) { return pushes::to_judge(tx, 10); }).empty());
}

TEST_CASE_METHOD(Fixture, "what is pushed while the first container starts is rolled out",
                 "[pushes_test]") {
  REQUIRE(now().status == Status::pending);
  CHECK_FALSE(answered('a'));
  CHECK_FALSE(answered('b'));
  runs('a');
  CHECK(answered('b'));
}

TEST_CASE_METHOD(Fixture, "what is pushed while a pinned image is stopped is rolled out afterwards",
                 "[pushes_test]") {
  begin();
  REQUIRE(answered('b'));
  fails(Reason::crash_loop);
  REQUIRE(judged() == pushes::Verdict::rolled_back);
  runs('a');
  stop(adas, row.id);
  CHECK_FALSE(answered('c'));
  restart(adas, row.id);
  runs('a');
  CHECK(answered('c'));
  CHECK(now().container.image == "ghcr.io/acme/web:main");
}

TEST_CASE_METHOD(Fixture, "an image without a tag is followed and rolled back as latest",
                 "[pushes_test]") {
  Change wanted;
  wanted.set(&ContainerSpec::image, std::string("ghcr.io/acme/web"));
  change(adas, row.id, wanted);
  begin();
  CHECK(view().image == "ghcr.io/acme/web:latest");
  REQUIRE(answered('b'));
  CHECK(now().container.image == "ghcr.io/acme/web");
  fails(Reason::crash_loop);
  CHECK(judged() == pushes::Verdict::rolled_back);
  CHECK(now().container.image == "ghcr.io/acme/web:latest@" + digest('a'));
  CHECK(view().rejected == std::vector<std::string>{digest('b')});
}

TEST_CASE_METHOD(Fixture, "after an owner's rollback the tag of that image is followed",
                 "[pushes_test]") {
  begin();
  Change wanted;
  wanted.set(&ContainerSpec::image, std::string("ghcr.io/acme/next:main"));
  change(adas, row.id, wanted);
  Observation seen;
  seen.status = Status::running;
  seen.image_digest = "ghcr.io/acme/next@" + digest('b');
  record(row.id, now().generation, seen);
  REQUIRE_FALSE(answered('b'));
  REQUIRE(view().image == "ghcr.io/acme/next:main");
  write([&](db::Tx& tx) { deployments::rollback(tx, actor(adas), row.id, {}, rules, keys.data); });
  runs('a');
  CHECK(view().image == "ghcr.io/acme/web:main");
  CHECK_FALSE(answered('a'));
  CHECK(answered('c'));
  CHECK(now().container.image == "ghcr.io/acme/web:main");
}

TEST_CASE_METHOD(Fixture, "an image that crashes later than ten minutes stays", "[pushes_test]") {
  begin();
  REQUIRE(answered('b'));
  runs('b');
  clock.advance(pushes::trial_time);
  CHECK(judged() == pushes::Verdict::passed);
  fails(Reason::crash_loop, Reason::crash_loop);
  CHECK(judged() == pushes::Verdict::waits);
  CHECK_FALSE(view().trial_until);
}

TEST_CASE_METHOD(Fixture, "a trial ends with the owner's own change, and isn't the cluster's fault",
                 "[pushes_test]") {
  begin();
  REQUIRE(answered('b'));
  fails(Reason::crash_loop, Reason::cluster_unreachable);
  CHECK(judged() == pushes::Verdict::waits);
  Change wanted;
  wanted.set(&ContainerSpec::port, 8080);
  change(adas, row.id, wanted);
  CHECK(judged() == pushes::Verdict::passed);
}

TEST_CASE_METHOD(Fixture,
                 "nothing is rolled out outside of its hours, and it is at their beginning",
                 "[pushes_test]") {
  begin();
  Change wanted;
  wanted.set(&ContainerSpec::deploy_hours, "22-6");
  change(adas, row.id, wanted);
  const auto before = now().generation;
  CHECK_FALSE(answered('b'));  // it is noon
  CHECK(now().generation == before);
  clock.advance(10h);
  CHECK(answered('b'));
}

TEST_CASE("the hours of deploys on push may pass midnight", "[pushes_test]") {
  const auto at = [](const char* time) { return *parse_iso8601(time); };
  CHECK(pushes::is_in_hours("22-6", at("2026-01-31T22:00:00Z")));
  CHECK(pushes::is_in_hours("22-6", at("2026-01-31T05:59:59Z")));
  CHECK_FALSE(pushes::is_in_hours("22-6", at("2026-01-31T06:00:00Z")));
  CHECK(pushes::is_in_hours("9-17", at("2026-01-31T09:00:00Z")));
  CHECK_FALSE(pushes::is_in_hours("9-17", at("2026-01-31T17:00:00Z")));
  CHECK(pushes::is_in_hours("", at("2026-01-31T17:00:00Z")));
  for (const char* wrong : {"9", "9-9", "9-24", "-1-3", "a-b", "9-17-"})
    CHECK_FALSE(pushes::is_hours(wrong));
}

TEST_CASE_METHOD(Fixture, "a registry that doesn't answer is asked less and less often",
                 "[pushes_test]") {
  begin();
  Duration longest{0};
  for (int i = 0; i < 12; ++i) {
    clock.advance(pushes::longest_pause);
    const auto questions = due();
    REQUIRE(questions.size() == 1);
    write([&](db::Tx& tx) {
      return pushes::record(tx, questions.front(), {.digest = {}, .error = "it answered with 500"},
                            rules);
    });
    CHECK(view().error == "it answered with 500");
    CHECK(*view().next_at - clock.now() >= longest);
    longest = *view().next_at - clock.now();
  }
  CHECK(longest == pushes::longest_pause);
  CHECK_FALSE([&] {
    clock.advance(pushes::longest_pause);
    return answered('a');
  }());
  CHECK_FALSE(view().error);
}

TEST_CASE_METHOD(Fixture, "a hint has the registry asked soon, for those who have its secret",
                 "[pushes_test]") {
  begin();
  const auto secret = write([&](db::Tx& tx) { return pushes::make_hook(tx, now()); });
  const auto hint = [&](const std::string& text) {
    return write([&](db::Tx& tx) { return pushes::hint(tx, row.id, text); });
  };
  CHECK_FALSE(hint("hook_wrong"));
  CHECK(due().empty());
  CHECK(hint(secret));
  clock.advance(pushes::hurried_every);
  REQUIRE(due().size() == 1);
  write([&](db::Tx& tx) {
    return pushes::record(tx, due().front(), {.digest = digest('a'), .error = {}}, rules);
  });
  CHECK(view().next_at == clock.now() + pushes::hurried_every);
  write([&](db::Tx& tx) { pushes::remove_hook(tx, row.id); });
  CHECK_FALSE(hint(secret));
}

TEST_CASE_METHOD(Fixture, "what doesn't follow a tag any more isn't asked about", "[pushes_test]") {
  begin();
  Change off;
  off.set(&ContainerSpec::auto_deploy, false);
  SECTION("it is switched off") { change(adas, row.id, off); }
  SECTION("the deployment is deleted") {
    write([&](db::Tx& tx) { deployments::destroy(tx, actor(adas), row.id); });
    CHECK_FALSE(read([&](db::Tx& tx) { return pushes::view(tx, row.id); }));
    CHECK(refusal([&] { write([&](db::Tx& tx) { pushes::make_hook(tx, now()); }); }) ==
          "409 invalid_state");
  }
  clock.advance(pushes::asked_every);
  CHECK(due().empty());
}

TEST_CASE_METHOD(Fixture, "an image without a tag in a registry can't be followed",
                 "[pushes_test]") {
  for (const std::string& image : {"ghcr.io/acme/web@" + digest('a')}) {
    auto wanted = order("other");
    wanted.container.image = image;
    wanted.container.auto_deploy = true;
    CHECK(details([&] { deploy(adas, wanted); }).contains("auto_deploy"));
  }
  CHECK(pushes::has_tag("ghcr.io/acme/web"));
  CHECK(pushes::has_tag("127.0.0.1:5000/web:1@" + digest('a')));
  CHECK_FALSE(pushes::has_tag("127.0.0.1:5000/web@" + digest('a')));
  CHECK_FALSE(pushes::has_tag("localhost/app/web:1"));
}
