/// What someone who watches a long run can ask of it.
#pragma once

namespace reluflow {

/// `stop` is the caller's wish, `interrupt` is Ctrl-C: the run ends in order and gives what it has, with another
/// status.
enum class Request { go_on, stop, interrupt };

}  // namespace reluflow
