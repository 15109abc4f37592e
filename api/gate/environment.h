#pragma once

namespace berth::api {

// What berthd is run for. In development some operations help to try things, and limits may be off.
enum class Environment { development, production };

}  // namespace berth::api
