/// Errors that the caller can correct. Numerical outcomes are statuses, not exceptions.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace reluflow {

/// An argument that breaks its contract. Python sees a ValueError with the same words.
class InvalidArgument : public std::invalid_argument {
  public:
    /// `name` of the argument, what was `found`, and what is `expected` ("positive", "a vector of 3 entries").
    InvalidArgument(std::string name, std::string found, std::string expected)
        : std::invalid_argument(name + " must be " + expected + ", found " + found),
          name_(std::move(name)),
          found_(std::move(found)),
          expected_(std::move(expected)) {}

    const std::string& name() const noexcept { return name_; }
    const std::string& found() const noexcept { return found_; }
    const std::string& expected() const noexcept { return expected_; }

  private:
    std::string name_;
    std::string found_;
    std::string expected_;
};

}  // namespace reluflow
