// Every registered mechanism: all instruction sets and any number of threads give the same symbols.
#include "mechanism_samples.h"

namespace sotto {
namespace {

TEST(Kernels, AllLevelsAndThreadCountsAgreeToTheBit) {
  const SimdLevel before = simd_level();
  for (const Sample& sample : samples()) {
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{30'011}}) {
      const auto mechanism = sample.make(size);
      ASSERT_TRUE(mechanism) << sample.label << ": " << mechanism.error().message;
      std::vector<float> values = sample.inputs(size);
      set_simd_level(SimdLevel::kScalar);
      const auto expected = drawn(**mechanism, values, 7);
      for (const SimdLevel level : simd_levels()) {
        set_simd_level(level);
        EXPECT_EQ(drawn(**mechanism, values, 7), expected) << sample.label << ' ' << name_of(level);
      }
      EXPECT_EQ(drawn(**mechanism, values, 7, 2), expected) << sample.label << " on 2 threads";
      EXPECT_EQ(drawn(**mechanism, values, 7, 3), expected) << sample.label << " on 3 threads";
      if (size >= 4096 && sample.mechanism != "none") {
        EXPECT_NE(drawn(**mechanism, values, 8), expected) << sample.label << " ignores the seed";
      }
    }
  }
  set_simd_level(before);
}

}  // namespace
}  // namespace sotto
