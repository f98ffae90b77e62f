/// What a callback can request from a long run.
#pragma once

namespace reluflow {

/// `stop` is the caller's wish, `interrupt` is Ctrl-C: either way the run ends with its results so far; the statuses
/// differ.
enum class Request { go_on, stop, interrupt };

}  // namespace reluflow
