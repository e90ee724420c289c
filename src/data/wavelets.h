// Morlet wavelets, and what feature maps of images do with them.
//
//   psi(x, y) = g(x) g(y) (e^{i xi (x cos a + y sin a)} - beta), g(t) = e^{-t^2 / 2 sigma^2} / Z,
//
// at kWaveletAngles angles a in [0, pi), with beta such that the filter has no response to a
// constant image. The magnitude of the response says how much of an edge of that angle and width
// there is, wherever it lies exactly.
//
// Such a wavelet is a product of two complex functions of one variable, so a filter is one pass
// over rows and one over columns. The frequencies along x and along y at the angle a are xi cos a
// and xi sin a: with angles k pi / kWaveletAngles, five sets of taps serve all eight angles, and
// the angles a and pi - a share both passes. A set's real part is even and its imaginary part odd,
// so taps at one distance share a multiplication.
//
// Every result has one order of rounded operations, none of them fused: it is the same to the last
// bit for all instruction sets.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace sotto {

inline constexpr std::size_t kWaveletAngles = 8;
/// What lies along x at angle k has frequency number min(k, kWaveletAngles - k), along y
/// kWaveletAngles / 2 minus that; the last frequency is 0.
inline constexpr std::size_t kWaveletFrequencies = kWaveletAngles / 2 + 1;

/// The wavelets of one scale, cut off at three times sigma.
struct WaveletBank {
  /// `sigma` in pixels, `xi` in radians a pixel.
  WaveletBank(double sigma, double xi);

  /// Of g(t) e^{i xi cos(m pi / kWaveletAngles) t} for each frequency m, at one distance t >= 0.
  struct Tap {
    std::array<float, kWaveletFrequencies> cosine;
    std::array<float, kWaveletFrequencies> sine;  // the last is 0
  };
  std::size_t radius;
  std::vector<Tap> taps;  // radius + 1 of them
  std::array<float, kWaveletFrequencies> beta;
};

/// What lies outside an image.
enum class ImageBorder {
  kBlack,
  kMirror,  // the image again, its outermost pixels doubled
};

/// Filters images of one size; belongs to one thread.
class WaveletFilter {
 public:
  /// `radius`: the largest of any bank.
  WaveletFilter(std::size_t width, std::size_t height, std::size_t radius, ImageBorder border);

  /// Numbers from one row of a plane to the next: the width, rounded up.
  std::size_t line() const { return line_; }
  std::size_t plane_size() const { return line_ * height_; }

  /// |image * psi| at each angle: kWaveletAngles planes, one after the other. `image` is a plane,
  /// too, of finite numbers; what a row holds beyond the width is not read, and not meant in
  /// `planes`.
  void magnitudes(const WaveletBank& bank, const float* image, std::span<float> planes);

 private:
  void surround(const float* image);
  void surround_rows(std::size_t radius);

  std::size_t width_;
  std::size_t height_;
  std::size_t margin_;
  ImageBorder border_;
  std::size_t line_;
  std::size_t padded_line_;
  std::vector<std::size_t> mirrored_columns_;  // of what lies left and right of the image
  std::vector<std::size_t> mirrored_rows_;
  std::vector<float> padded_;  // the image and what lies left and right of it
  std::vector<float> rows_;    // planes after the rows' pass, and what lies above and below
  std::vector<float> blur_;
};

/// Copies an image into a plane with rows `line` apart. What is not a number becomes 0, and numbers
/// are cut off at a million, so that no product of theirs overflows.
void copy_to_plane(std::span<const float> image, std::size_t width, std::size_t line,
                   std::span<float> plane);

/// Means over cells of kSide x kSide pixels; the last ones of a row or column may be smaller.
class CellMeans {
 public:
  static constexpr std::size_t kSide = 4;
  CellMeans(std::size_t width, std::size_t height, std::size_t line);
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t cells() const { return rows_ * columns_; }
  void compute(const float* plane, float* to);

 private:
  std::size_t width_;
  std::size_t height_;
  std::size_t line_;
  std::size_t rows_;
  std::size_t columns_;
  std::vector<float> sums_;  // over the rows of a cell
};

/// Divides the numbers of each cell by their common norm, where that is more than `trace`: what
/// counts is which edges there are, not how strong. `maps` holds maps of `cells` numbers.
void divide_by_cell_norm(std::span<float> maps, std::size_t cells, float trace);

/// Scales a sample's features to mean 0 and norm `norm`; if all are equal, they become 0.
void centre_and_scale(std::span<float> features, double norm);

}  // namespace sotto
