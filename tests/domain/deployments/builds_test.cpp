#include "controller/domain/deployments/builds/builds.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "controller/base/id.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "controller/domain/lifecycle/expiry.h"
#include "tests/domain/deployments/billing/billing_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using builds::Build;
using builds::Outcome;
using builds::Reason;
using builds::Status;

constexpr builds::Limits limits = {.time = std::chrono::minutes(15), .storage_bytes = 1'000};
const std::string digest(64, 'a');

struct BuildWorld : BillingWorld {
  apps::App other = approved_app(ada, {Scope::deploy_manage});
  apps::App foreign = approved_app(verified_user("bob"), {Scope::deploy_manage});

  BuildWorld() { rules.builds_images = true; }

  Build ask(const std::string& name = "shop", const std::string& tier = "paid") {
    return ask_for(app, name, tier);
  }
  Build ask_for(const apps::App& of, const std::string& name, const std::string& tier = "paid") {
    return write([&](db::Tx& tx) {
      return builds::create(
          tx, actor(of), {.id = new_uuid(tx.now()), .name = name, .tier = tier, .source_bytes = 10},
          limits);
    });
  }
  bool start(const std::string& id) {
    return write([&](db::Tx& tx) { return builds::start(tx, id); });
  }
  bool finish(const std::string& id, const Outcome& outcome) {
    return write([&](db::Tx& tx) { return builds::finish(tx, id, outcome, limits); });
  }
  // Each image has a digest of its own.
  std::string succeed(const std::string& id, std::int64_t bytes = 100) {
    const Build build = get(id);
    std::string digits = id;
    std::erase(digits, '-');
    const std::string image =
        builds::repository(build.app_id, build.name) + "@sha256:" + digits + digits;
    REQUIRE(finish(id, {.status = Status::succeeded, .image = image, .image_bytes = bytes}));
    return image;
  }
  std::string built(const std::string& name = "shop", std::int64_t bytes = 100) {
    const Build build = ask(name, "wide");
    REQUIRE(start(build.id));
    return succeed(build.id, bytes);
  }
  Build get(const std::string& id) {
    return *read([&](db::Tx& tx) { return builds::find(tx, id); });
  }
  Build cancel(const std::string& id) {
    return write([&](db::Tx& tx) { return builds::cancel(tx, actor(app), id); });
  }
  std::vector<std::string> next(int most = 10) {
    std::vector<std::string> names;
    for (const Build& build : read([&](db::Tx& tx) { return builds::next(tx, most); }))
      names.push_back(build.name);
    return names;
  }
  void price(const std::string& slug, std::int64_t points) {
    change_tier(slug, [&](tiers::Tier& tier) { tier.build_points_per_minute = points; });
  }
  deployments::Deployment run_image(const std::string& name, const std::string& image) {
    auto wanted = order(name, "wide");
    wanted.container.image = image;
    return deploy(app, wanted);
  }
  void change_image(const std::string& id, const std::string& image) {
    deployments::Change wanted;
    wanted.set(&deployments::ContainerSpec::image, image);
    change(id, wanted);
  }
  // What the loop removes now.
  std::vector<std::string> collected() {
    std::vector<std::string> images;
    for (const Build& build : read([](db::Tx& tx) { return builds::unneeded_images(tx, 100); }))
      if (write([&](db::Tx& tx) { return builds::give_up_image(tx, build.id); }))
        images.push_back(*build.image);
    return images;
  }
  void check_books() {
    read([](db::Tx& tx) {
      for (const auto& check : ledger::audit(tx)) {
        INFO(check.name << ": " << check.detail);
        CHECK(check.ok);
      }
    });
  }
};

}  // namespace

TEST_CASE("builds of an app run one after the other, oldest first, and others' beside them") {
  BuildWorld w;
  const Build first = w.ask("one", "wide");
  w.clock.advance(std::chrono::seconds(1));
  const Build second = w.ask("two", "wide");
  w.clock.advance(std::chrono::seconds(1));
  w.ask_for(w.foreign, "three", "wide");
  CHECK(first.status == Status::queued);
  CHECK(w.next() == std::vector<std::string>{"one", "three"});
  CHECK(w.next(1) == std::vector<std::string>{"one"});
  CHECK(w.start(first.id));
  CHECK_FALSE(w.start(first.id));
  CHECK(w.next() == std::vector<std::string>{"three"});
  w.succeed(first.id);
  CHECK(w.next() == std::vector<std::string>{"two", "three"});
  CHECK(w.cancel(second.id).status == Status::cancelled);
  CHECK(w.next() == std::vector<std::string>{"three"});
}

TEST_CASE("a build is refused for its name, its tier, and what the account has already") {
  BuildWorld w;
  CHECK(refusal([&] { w.ask("-x"); }) == "422 validation_failed");
  CHECK(refusal([&] { w.ask(std::string(33, 'x')); }) == "422 validation_failed");
  CHECK(refusal([&] { w.ask("shop", "none"); }) == "422 unknown_tier");
  CHECK(refusal([&] { w.ask("shop", "basic"); }) == "403 tier_not_allowed");
  CHECK(refusal([&] { w.ask("shop", "sats"); }) == "422 payment_method_unsupported");
  w.deploy(w.foreign, order("taken", "wide"));
  CHECK(refusal([&] { w.ask("taken", "wide"); }) == "409 subdomain_taken");
  for (int i = 0; i < builds::max_open_of_account; ++i)
    w.ask_for(i % 2 == 0 ? w.app : w.other, "shop" + std::to_string(i), "wide");
  CHECK(refusal([&] { w.ask("last", "wide"); }) == "429 build_limit_reached");
  w.ask_for(w.foreign, "another", "wide");
}

TEST_CASE("images of an account have a quota") {
  BuildWorld w;
  w.built("a", 600);
  w.built("b", 400);
  CHECK(refusal([&] { w.ask("c", "wide"); }) == "429 build_limit_reached");
  w.ask_for(w.foreign, "d", "wide");
  w.clock.advance(builds::unused_for + std::chrono::seconds(1));
  CHECK(w.collected().size() == 2);
  w.ask("c", "wide");
}

TEST_CASE("each minute that has begun is charged once, in the transaction that ends the build") {
  BuildWorld w;
  w.price("paid", 7);
  CHECK(refusal([&] { w.ask(); }) == "422 insufficient_balance");
  w.give(7 * 15);
  const Build build = w.ask();
  CHECK(build.price == 7);
  CHECK(w.start(build.id));
  w.price("paid", 100);  // applies to later builds
  w.clock.advance(std::chrono::seconds(61));
  CHECK(w.finish(build.id, {.reason = Reason::build_failed, .message = "no"}));
  CHECK(w.get(build.id).points == 14);
  CHECK(w.points() == 7 * 15 - 14);
  CHECK_FALSE(w.finish(build.id, {.reason = Reason::build_failed}));
  CHECK(w.points() == 7 * 15 - 14);
  w.check_books();
  // The audit notices a receipt without its transaction, and the other way round.
  w.write([](db::Tx& tx) { tx.execute("UPDATE build_charges SET amount = amount + 1"); });
  CHECK(w.read([](db::Tx& tx) {
    bool all = true;
    for (const auto& check : ledger::audit(tx)) all = all && check.ok;
    return !all;
  }));
}

TEST_CASE("the platform's own faults cost nothing, and neither does a build that never began") {
  BuildWorld w;
  w.price("paid", 7);
  w.give(1'000);
  for (const Reason reason : {Reason::interrupted, Reason::unavailable}) {
    const Build build = w.ask();
    w.start(build.id);
    w.clock.advance(std::chrono::minutes(5));
    CHECK(w.finish(build.id, {.reason = reason, .message = "sorry"}));
  }
  CHECK(w.cancel(w.ask().id).status == Status::cancelled);
  CHECK(w.points() == 1'000);
  w.check_books();
}

TEST_CASE("a build that runs is cancelled by the loop, and its time is charged") {
  BuildWorld w;
  w.price("paid", 7);
  w.give(1'000);
  const Build build = w.ask();
  w.start(build.id);
  CHECK(w.cancel(build.id).cancel_asked_at);
  CHECK(w.cancel(build.id).status == Status::building);
  CHECK(w.read(builds::to_cancel) == std::vector{build.id});
  CHECK(w.finish(build.id, {.status = Status::cancelled}));
  CHECK(w.get(build.id).points == 7);
  CHECK(w.cancel(build.id).status == Status::cancelled);
  w.check_books();
}

TEST_CASE("whatever a build takes and the app has left, the charge is within both") {
  rc::check([] {
    BuildWorld w;
    const auto price = *rc::gen::inRange<std::int64_t>(0, 50);
    const auto seconds = *rc::gen::inRange<std::int64_t>(0, 3'000);
    const auto spent = *rc::gen::inRange<std::int64_t>(0, 50 * 15 + 1);
    w.price("paid", price);
    w.give(50 * 15);
    const Build build = w.ask();
    w.start(build.id);
    if (spent > 0) w.take(spent);
    w.clock.advance(std::chrono::seconds(seconds));
    const auto before = w.points();
    RC_ASSERT(w.finish(build.id, {.reason = Reason::timed_out}));
    const auto minutes = std::clamp<std::int64_t>((seconds + 59) / 60, 1, 15);
    RC_ASSERT(w.get(build.id).points == std::min(minutes * price, before));
    RC_ASSERT(w.points() == before - w.get(build.id).points);
    w.check_books();
  });
}

TEST_CASE("an image of a build runs for its app alone, and only while it is there") {
  BuildWorld w;
  const std::string image = w.built();
  auto wanted = order("shop", "wide");
  wanted.container.image = image;
  CHECK(refusal([&] { w.deploy(w.foreign, wanted); }) == "422 unsupported_registry");
  CHECK(refusal([&] { w.deploy(w.other, wanted); }) == "422 unsupported_registry");
  const std::string unknown = builds::repository(w.app.id, "shop") + "@sha256:" + digest;
  for (const std::string& bad :
       {unknown, image.substr(0, image.find('@')), std::string("localhost/x"),
        std::string("localhost/other/shop@sha256:") + digest}) {
    INFO(bad);
    wanted.container.image = bad;
    CHECK(refusal([&] { w.deploy(w.app, wanted); }) == "422 unsupported_registry");
  }
  const auto row = w.run_image("shop", image);
  CHECK(row.container.image == image);
  CHECK(refusal([&] { w.change_image(row.id, unknown); }) == "422 unsupported_registry");
  // Without a builder, localhost is a registry like any other that isn't allowed.
  w.rules.builds_images = false;
  CHECK(refusal([&] { w.run_image("two", image); }) != "");
}

TEST_CASE("images stay while a deployment runs them, and the newest for rollbacks") {
  BuildWorld w;
  std::vector<std::string> images;
  for (int i = 0; i < 6; ++i) {
    images.push_back(w.built("shop", 10));
    w.clock.advance(std::chrono::seconds(1));
  }
  CHECK(w.collected().empty());  // they are too young
  const auto row = w.run_image("shop", images[0]);
  w.clock.advance(builds::unused_for);
  CHECK(w.collected() == std::vector{images[1], images[2]});
  CHECK(w.read([&](db::Tx& tx) { return builds::is_kept(tx, images[0]); }));
  CHECK_FALSE(w.read([&](db::Tx& tx) { return builds::is_kept(tx, images[1]); }));
  CHECK(refusal([&] { w.change_image(row.id, images[1]); }) == "422 unsupported_registry");
  w.change_image(row.id, images[4]);
  CHECK(w.collected() == std::vector{images[0]});
  w.write([&](db::Tx& tx) { deployments::destroy(tx, w.actor(w.app), row.id); });
  CHECK(w.collected() == std::vector{images[3], images[4], images[5]});
}

TEST_CASE(
    "images of this machine alone are found and replaced, for deployments that run and that "
    "don't") {
  BuildWorld w;
  const std::string shop = w.built("shop"), blog = w.built("blog"), unused = w.built("unused");
  const auto runs = w.run_image("shop", shop), stopped = w.run_image("stopped", shop);
  const auto deleted = w.run_image("deleted", shop), other = w.run_image("blog", blog);
  w.write([&](db::Tx& tx) { return deployments::stop(tx, w.actor(w.app), stopped.id); });
  w.write([&](db::Tx& tx) { return deployments::destroy(tx, w.actor(w.app), deleted.id); });
  const auto images = w.read(builds::images_in_use);
  REQUIRE(images.size() == 2);
  CHECK(images[0].image == shop);
  CHECK(images[0].app_id == w.app.id);
  CHECK(images[0].name == "shop");
  CHECK(images[0].deployments.size() == 2);
  CHECK(images[1].deployments == std::vector<std::string>{"blog"});

  const auto find = [&](const std::string& id) {
    return *w.read([&](db::Tx& tx) { return deployments::find(tx, id); });
  };
  const std::string there = "registry.example.org/grown/shop@sha256:" + digest;
  const auto before = find(runs.id);
  CHECK(w.write([&](db::Tx& tx) { return builds::replace_image(tx, w.app.id, shop, there); }) == 2);
  CHECK(find(runs.id).container.image == there);
  CHECK(find(runs.id).generation == before.generation + 1);
  CHECK(find(stopped.id).container.image == there);
  CHECK(find(stopped.id).status == deployments::Status::stopped);
  CHECK(find(deleted.id).container.image == shop);
  CHECK(find(other.id).container.image == blog);
  CHECK(w.read([&](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM deployment_revisions WHERE image = $1", shop);
  }) == 0);
  CHECK(w.write([&](db::Tx& tx) { return builds::replace_image(tx, w.app.id, shop, there); }) == 0);
  CHECK(w.read(builds::images_in_use).size() == 1);
  w.check_books();
}

TEST_CASE("an image isn't given up if a deployment takes it at the last moment") {
  BuildWorld w;
  const std::string image = w.built();
  w.clock.advance(builds::unused_for);
  const auto found = w.read([](db::Tx& tx) { return builds::unneeded_images(tx, 10); });
  REQUIRE(found.size() == 1);
  w.run_image("shop", image);
  CHECK_FALSE(w.write([&](db::Tx& tx) { return builds::give_up_image(tx, found[0].id); }));
}

TEST_CASE("builds are listed by app and name, and belong to their app") {
  BuildWorld w;
  w.built("a");
  w.built("b");
  const Build last = w.ask("a", "wide");
  const auto names = [&](const std::string& name) {
    std::string all;
    const auto page =
        w.read([&](db::Tx& tx) { return builds::list(tx, w.app.id, name, {.page_size = 10}); });
    for (const Build& build : page.items) all += build.name;
    return all;
  };
  CHECK(names("").size() == 3);
  CHECK(names("a") == "aa");
  CHECK(refusal([&] {
          w.read([&](db::Tx& tx) { return builds::get_owned(tx, w.foreign.id, last.id); });
        }) == "403 forbidden");
  CHECK(refusal([&] {
          w.read([&](db::Tx& tx) { return builds::get_owned(tx, w.app.id, new_uuid(tx.now())); });
        }) == "404 build_not_found");
}

TEST_CASE(
    "rows of builds go after a month, or when a name has many, but not while an image is kept") {
  BuildWorld w;
  const std::string image = w.built("kept");
  w.run_image("kept", image);
  for (int i = 0; i < builds::kept_builds + 5; ++i) {
    const Build build = w.ask("shop", "wide");
    w.start(build.id);
    w.finish(build.id, {.reason = Reason::build_failed});
    w.clock.advance(std::chrono::seconds(1));
  }
  const auto rows = [&] {
    return w.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM builds"); });
  };
  CHECK(rows() <= builds::kept_builds + 2);
  w.clock.advance(builds::kept_for);
  while (w.read(expiry::is_anything_due))
    w.write([](db::Tx& tx) { return expiry::remove_some(tx, 100); });
  CHECK(rows() == 1);
}

TEST_CASE("an app with a build that isn't over can't be deleted, and its builds go with it") {
  BuildWorld w;
  const Build build = w.ask("shop", "wide");
  const auto remove = [&] {
    w.write([&](db::Tx& tx) { apps::remove(tx, *apps::find(tx, w.app.id)); });
  };
  CHECK(refusal(remove) == "409 invalid_state");
  w.cancel(build.id);
  remove();
  while (w.read(expiry::is_anything_due))
    w.write([](db::Tx& tx) { return expiry::remove_some(tx, 100); });
  CHECK(w.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM builds"); }) == 0);
}
