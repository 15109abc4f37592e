#include "reconcilers/embedded/apiserver/apply.h"

#include <algorithm>
#include <optional>

#include "reconcilers/embedded/apiserver/merge.h"

namespace berth::embedded {
namespace {

enum class Operation { apply, update };

// The fields of one manager. They are kept as text (fieldsV1 in JSON) until somebody looks at them,
// because most writes concern a single manager.
class OwnedFields {
 public:
  OwnedFields() : set_(FieldSet()) {}
  // A client may have sent the set itself instead of its text.
  explicit OwnedFields(const Json& value) {
    if (value.is_string())
      text_ = value.get_ref<const std::string&>();
    else
      set_ = FieldSet::from_json(value);
  }

  const FieldSet& get() const {
    if (!set_) {
      const Json parsed = Json::parse(text_, nullptr, false);
      set_ = parsed.is_object() ? FieldSet::from_json(parsed) : FieldSet();
    }
    return *set_;
  }
  void set(FieldSet fields) {
    if (get() == fields) return;
    set_ = std::move(fields);
    text_.clear();
  }
  std::string text() const { return text_.empty() ? get().to_json().dump() : text_; }
  bool empty() const { return text_.empty() ? get().empty() : text_ == "{}"; }
  // False if the text alone shows that the manager owns nothing of `fields`.
  bool may_have_some_of(const FieldSet& fields) const {
    if (text_.empty()) return true;
    return std::ranges::any_of(fields.children(), [&](const auto& child) {
      return text_.find(Json(child.first).dump()) != std::string::npos;
    });
  }

 private:
  std::string text_;  // empty if only the set is known
  mutable std::optional<FieldSet> set_;
};

struct Manager {
  std::string name;
  Operation operation;
  std::string version;
  Subresource subresource;
  std::string time;
  OwnedFields fields;

  bool is(const Writer& writer, Operation how) const {
    return name == writer.manager && operation == how && subresource == writer.subresource;
  }
};

using Managers = std::vector<Manager>;

Managers managers_of(const Json& object) {
  Managers managers;
  for (const Json& entry : at_path(object, "/metadata/managedFields"))
    managers.push_back(
        {text_at(entry, "manager"),
         text_at(entry, "operation") == "Apply" ? Operation::apply : Operation::update,
         text_at(entry, "apiVersion"),
         text_at(entry, "subresource") == "status" ? Subresource::status : Subresource::none,
         text_at(entry, "time"), OwnedFields(at_path(entry, "/fieldsV1"))});
  return managers;
}

// Managers are sorted as the API server does: those that apply come first, then by time and name.
void set_managers(Json& object, Managers managers) {
  std::erase_if(managers, [](const Manager& one) { return one.fields.empty(); });
  std::stable_sort(managers.begin(), managers.end(), [](const Manager& a, const Manager& b) {
    return std::tie(a.operation, a.time, a.name) < std::tie(b.operation, b.time, b.name);
  });
  Json entries = Json::array();
  for (const Manager& one : managers) {
    Json entry{{"manager", one.name},
               {"operation", one.operation == Operation::apply ? "Apply" : "Update"},
               {"apiVersion", one.version},
               {"fieldsType", "FieldsV1"},
               {"fieldsV1", one.fields.text()}};
    if (!one.time.empty()) entry["time"] = one.time;
    if (one.subresource == Subresource::status) entry["subresource"] = "status";
    entries.push_back(std::move(entry));
  }
  if (entries.empty())
    object["metadata"].erase("managedFields");
  else
    object["metadata"]["managedFields"] = std::move(entries);
}

// Removes the fields that nobody can own: the object's identity and the server's own fields
// (stripMeta in k8s.io/apimachinery, managedfields), and fields that the endpoint doesn't write.
void strip(FieldSet& fields, const Type& type, Subresource subresource) {
  fields.drop("f:apiVersion");
  fields.drop("f:kind");
  if (const FieldSet* metadata = fields.find("f:metadata")) {
    FieldSet& own = fields.at("f:metadata");
    for (const char* field :
         {"name", "namespace", "creationTimestamp", "selfLink", "uid", "generation",
          "managedFields", "resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"})
      own.drop("f:" + std::string(field));
    if (metadata->children().empty()) fields.drop("f:metadata");
  }
  // A namespace's spec has only finalizers, which the API server sets itself.
  if (type.id == Kind::namespaces) fields.drop("f:spec");
  if (subresource == Subresource::status) {
    fields.drop("f:spec");
  } else if (type.status == HasStatus::yes) {
    fields.drop("f:status");
  }
}

std::string shown(const Manager& manager) {
  const std::string name = "\"" + manager.name + "\"";
  if (manager.operation == Operation::apply) return name;
  const std::string part =
      manager.subresource == Subresource::status ? " with subresource \"status\"" : "";
  return name + part + " using " + manager.version;
}

struct Clash {
  std::string manager;
  std::string path;
};

Refusal apply_conflict(const std::vector<Clash>& clashes) {
  Json causes = Json::array();
  std::map<std::string, std::string> by_manager;
  for (const Clash& clash : clashes) {
    causes.push_back({{"reason", "FieldManagerConflict"},
                      {"message", "conflict with " + clash.manager},
                      {"field", clash.path}});
    by_manager[clash.manager] += "\n- " + clash.path;
  }
  std::string message = "Apply failed with " + std::to_string(clashes.size());
  if (clashes.size() == 1) {
    message += " conflict: conflict with " + clashes[0].manager + ": " + clashes[0].path;
  } else {
    std::string lines;
    for (const auto& [manager, paths] : by_manager)
      lines += (lines.empty() ? "" : "\n") + ("conflicts with " + manager + ":" + paths);
    message += " conflicts: " + lines;
  }
  return Refusal(status_failure(409, "Conflict", message, {{"causes", std::move(causes)}}));
}

// Removes the changed fields from the other managers. Throws Refusal if that needs `force`.
void take_over(Managers& managers, const Comparison& change, const Writer& writer,
               Operation operation, Force force) {
  FieldSet touched = change.added;
  touched.add(change.modified);
  std::vector<Clash> clashes;
  for (Manager& other : managers) {
    if (other.is(writer, operation)) continue;
    if (other.fields.may_have_some_of(touched)) {
      const FieldSet taken = other.fields.get().common_with(touched);
      if (!taken.empty() && force == Force::no)
        for (const std::string& path : taken.paths()) clashes.push_back({shown(other), path});
      if (!taken.empty()) other.fields.set(other.fields.get().minus(taken));
    }
    if (other.fields.may_have_some_of(change.removed))
      other.fields.set(other.fields.get().minus(change.removed));
  }
  if (!clashes.empty()) throw apply_conflict(clashes);
}

Json without_managers(Json object) {
  if (object.contains("metadata")) object["metadata"].erase("managedFields");
  return object;
}

// Removes the fields that the writer applied before and no longer applies, unless somebody else
// owns them too. `applied` contains the writer's fields together with those that nobody can own, so
// that `metadata` stays.
Json pruned(const Json& merged, const FieldSet& before, const FieldSet& applied,
            const Managers& managers) {
  FieldSet owned = applied;
  for (const Manager& manager : managers) owned.add(manager.fields.get());
  const FieldSet gone = before.with_named_parents().minus(owned.with_named_parents());
  return gone.empty() ? merged : without(merged, gone);
}

Json applied(const Type& type, const Json& live, const Json& config, const Writer& writer,
             Force force) {
  const FieldSet whole = fields_of(config);
  FieldSet fields = whole;
  strip(fields, type, writer.subresource);
  Managers managers = managers_of(live);
  const Json old = live.is_null() ? Json::object() : without_managers(live);
  const Json merged = merge(old, config);

  auto mine = std::find_if(managers.begin(), managers.end(),
                           [&](const Manager& one) { return one.is(writer, Operation::apply); });
  if (mine == managers.end())
    mine = managers.insert(
        managers.end(),
        {writer.manager, Operation::apply, api_version(type), writer.subresource, "", {}});
  const FieldSet before = mine->fields.get();
  mine->fields.set(std::move(fields));

  Json result = pruned(merged, before, whole, managers);
  const Comparison change = compare(old, result);
  // A writer that merely becomes another owner of unchanged fields gets no time.
  if (!(change.added.empty() && change.modified.empty() && change.removed.empty()))
    mine->time = timestamp();
  take_over(managers, change, writer, Operation::apply, force);
  drop_nulls(result);
  set_managers(result, std::move(managers));
  return result;
}

}  // namespace

Json apply(const Type& type, const Json& live, const Json& config, const Writer& writer,
           Force force) {
  try {
    return applied(type, live, config, writer, force);
  } catch (const MergeError& failure) {
    const std::string ns = namespace_of(config);
    // The API server doesn't treat this as a refusal, so it gives no reason.
    throw Refusal(status_failure(500, "",
                                 "failed to create typed patch object (" + ns + "/" +
                                     name_of(config) + "; " + api_version(type) +
                                     ", Kind=" + std::string(type.kind) + "): " + failure.what()));
  }
}

namespace {

// What an update changes, apart from the managed fields.
Comparison change_of(const Type& type, const Json& live, const Json& next, const Writer& writer) {
  // A controller's write of a status has the managed fields that it has read, so nothing has to be
  // copied.
  if (!live.is_null() && writer.subresource == Subresource::status &&
      at_path(live, "/metadata/managedFields") == at_path(next, "/metadata/managedFields"))
    return compare(live, next);
  Json old = live.is_null() ? Json::object() : without_managers(live);
  if (live.is_null())
    for (const char* part : {"metadata", "spec", "status"})
      if (next.contains(part)) old[part] = Json::object();
  // The list of a pod's containers is required, and the API server counts only its items as added.
  if (type.id == Kind::pods) old["spec"]["containers"] = Json::array();
  return compare(old, without_managers(next));
}

}  // namespace

void track_update(const Type& type, const Json& live, Json& next, const Writer& writer) {
  // Whoever writes the object itself may write its managed fields, too (decodeLiveOrNew in
  // k8s.io/apimachinery, managedfields). When it is created, they have no effect.
  const bool is_given = writer.subresource == Subresource::none && !live.is_null() &&
                        !at_path(next, "/metadata/managedFields").empty();
  Managers managers = managers_of(is_given ? next : live);
  Comparison change;
  try {
    change = change_of(type, live, next, writer);
  } catch (const MergeError&) {
    return;  // an update can store lists with duplicate keys; the ownership then stays as it was
  }
  for (FieldSet* part : {&change.added, &change.modified}) strip(*part, type, writer.subresource);
  take_over(managers, change, writer, Operation::update, Force::yes);
  FieldSet touched = change.added;
  touched.add(change.modified);
  auto mine = std::find_if(managers.begin(), managers.end(),
                           [&](const Manager& one) { return one.is(writer, Operation::update); });
  if (!touched.empty() && mine == managers.end())
    mine = managers.insert(managers.end(), {writer.manager,
                                            Operation::update,
                                            api_version(type),
                                            writer.subresource,
                                            timestamp(),
                                            {}});
  if (mine != managers.end()) {
    FieldSet mine_now = mine->fields.get();
    mine_now.add(touched);
    mine_now = mine_now.minus(change.removed);
    if (!touched.empty() || mine_now != mine->fields.get()) mine->time = timestamp();
    mine->fields.set(std::move(mine_now));
  }
  set_managers(next, std::move(managers));
}

bool same_but_for_times(const Json& a, const Json& b) {
  const Json& one = at_path(a, "/metadata/managedFields");
  const Json& other = at_path(b, "/metadata/managedFields");
  if (one == other) return a == b;
  if (without_managers(a) != without_managers(b) || one.size() != other.size()) return false;
  for (size_t i = 0; i < one.size(); ++i) {
    Json x = one[i];
    Json y = other[i];
    x.erase("time");
    y.erase("time");
    if (x != y) return false;
  }
  return true;
}

}  // namespace berth::embedded
