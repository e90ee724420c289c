// What is no certificate is refused with a reason, whatever it is: cut off, huge, nested, with keys
// twice or numbers that are none.
#include "certificate_fixture.h"

namespace sotto {
namespace {

void expect_refused(const std::string& text, const std::string& reason) {
  const auto checked = examine_certificate(text);
  ASSERT_FALSE(checked) << text.substr(0, 80);
  EXPECT_EQ(checked.error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(checked.error().message.rfind("not a certificate: ", 0), 0U) << checked.error().message;
  EXPECT_NE(checked.error().message.find(reason), std::string::npos) << checked.error().message;
  EXPECT_LT(checked.error().message.size(), 400U);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Hostile, CutOffAnywhere) {
  const std::string text = made_text(small_content());
  for (std::size_t length = 0; length + 1 < text.size(); length += 7) {
    expect_refused(text.substr(0, length), "no valid JSON");
  }
  expect_refused(text.substr(0, text.size() - 1), "line ");
  expect_refused(text + ' ', "line ");
  expect_refused(text + text, "no valid JSON");
}

TEST(Hostile, NestedAndHuge) {
  expect_refused(std::string(1'000'000, '['), "nest deeper");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  expect_refused(objects, "nest deeper");
  expect_refused(std::string((std::size_t{64} << 20) + 1, ' '), "none is larger than");
  expect_refused(std::string(1'000'000, '"'), "no valid JSON");
}

TEST(Hostile, OtherThings) {
  expect_refused("", "no valid JSON");
  expect_refused("{}", "no 'format'");
  expect_refused("[]", "no 'format'");
  expect_refused("7", "no 'format'");
  expect_refused("null", "no 'format'");
  expect_refused(std::string("\0\0\0", 3), "no valid JSON");
  expect_refused("\xff\xfe", "no valid JSON");
  const std::string text = made_text(small_content());
  expect_refused(replaced(text, "certificate.v3", "certificate.v1"), "its format is");
}

TEST(Hostile, KeysTwiceAndOtherSpellings) {
  const std::string text = made_text(small_content());
  expect_refused(replaced(text, "  \"recipe\":", "  \"recipe\": \"x\",\n  \"recipe\":"),
                 "a key twice");
  expect_refused(replaced(text, "\"rounds\": 3", "\"rounds\": 3.0"), "'rounds' must be");
  expect_refused(replaced(text, "\"rounds\": 3", "\"rounds\":  3"), "not written as Sotto");
  expect_refused(replaced(text, "\"sotto\": \"0", "\"sotto\": \"\\u0030"), "not written as Sotto");
  expect_refused(replaced(text, "1e-05", "0.00001"), "not written as Sotto");
  // More digits that mean the same double.
  expect_refused(replaced(text, "\"radius\": 0.075", "\"radius\": 0.0750000000000000000001"),
                 "not written as Sotto");
}

TEST(Hostile, NumbersThatAreNone) {
  const std::string text = made_text(small_content());
  for (const std::string bad : {"NaN", "Infinity", "1e999", "-", "0x1p0"}) {
    expect_refused(replaced(text, "\"rounds\": 3", "\"rounds\": " + bad), "no valid JSON");
  }
  Json certificate = Json::parse(text);
  const auto with = [&](const std::string& pointer, const Json& value) {
    Json other = certificate;
    other[Json::json_pointer(pointer)] = value;
    return forged(other);
  };
  for (const Json& bad : {Json(-1), Json(0.5), Json("3"), Json(nullptr), Json(true), Json(1e300),
                          Json(std::uint64_t{1} << 40), Json::array()}) {
    expect_refused(with("/exposure/turns/0/rounds", bad), "'rounds' must be");
  }
  for (const std::string bad : {"nan", "inf", "", "0x1p+0 ", "1.5", "0X1P+0", "0x1.80p+0"}) {
    expect_refused(with("/mechanisms/0/parameters/0/value_hex", bad), "'value_hex' must be");
  }
  expect_refused(with("/exposure/turns/0/batches", Json::object()), "'batches' must be");
  expect_refused(with("/exposure/turns/0/batches", Json::array({7})), "'clients' is missing");
  expect_refused(with("/exposure/shuffle", "maybe"), "none, shuffler or latency");
  expect_refused(with("/mechanisms/0/domain/shape", "cube"), "box, ball or one-hot");
  expect_refused(with("/mechanisms/0", 7), "'name' is missing");
  expect_refused(with("/mechanisms", Json::object()), "'mechanisms' must be");
  expect_refused(with("/ledger", "yes"), "'entries' is missing");
}

TEST(Hostile, TurnsThatSpeakOfNothing) {
  const Json certificate = Json::parse(made_text(several_content()));
  const auto with = [&](const Json& variants) {
    Json other = certificate;
    other["exposure"]["turns"][0]["variants"] = variants;
    return forged(other);
  };
  EXPECT_TRUE(examine_certificate(with({{1}, {0}})));
  for (const char* bad : {"7", "{}", "[]", "[7]", "[[4]]", "[[-1]]", "[[0.5]]", "[[\"0\"]]",
                          "[[0],[0,1]]", "[[0],[]]", "[[18446744073709551615]]"}) {
    expect_refused(with(Json::parse(bad)), "'variants' must be");
  }
  expect_refused(with(Json(std::vector(320, std::vector<int>(320, 0)))), "'variants' must be");
  Json other = certificate;
  other["exposure"]["turns"] = 7;
  expect_refused(forged(other), "'turns' must be");
}

TEST(Hostile, SizesThatNothingHas) {
  const Json certificate = Json::parse(made_text(small_content()));
  const Json::json_pointer shape("/mechanisms/0/domain/tensors/0/shape");
  for (const Json& bad :
       {Json::array({std::uint64_t{1} << 63}), Json::array({-1}), Json::array({1 << 30, 1 << 30}),
        Json::array({"2"}), Json(std::vector<int>(100, 1))}) {
    Json other = certificate;
    other[shape] = bad;
    expect_refused(forged(other), "'shape' must be");
  }
  Json other = certificate;
  const Json tensor = other["mechanisms"][0]["domain"]["tensors"][0];
  for (int i = 0; i < 10'000; ++i) other["mechanisms"][0]["domain"]["tensors"].push_back(tensor);
  expect_refused(forged(other), "'tensors' must be");
  other = certificate;
  other["exposure"]["turns"][0]["rounds"] = std::uint64_t{1} << 31;
  other["mechanisms"][0]["domain"]["tensors"][0]["shape"] = {1 << 30};
  expect_refused(forged(other), "'rounds' must be at most 2^44");
  other = certificate;
  other["exposure"]["turns"][0]["batches"] = {{{"clients", std::uint64_t{1} << 40}, {"rounds", 1}}};
  expect_refused(forged(other), "'clients' must be");
}

// A mechanism that cannot be: known by form, found when it is built.
TEST(Hostile, AMechanismThatCannotBe) {
  Json certificate = Json::parse(made_text(small_content()));
  certificate["mechanisms"][0]["name"] = "srrr";
  const auto unknown = examine_certificate(forged(certificate));
  ASSERT_TRUE(unknown);
  EXPECT_EQ(broken(*unknown), std::vector<std::string>{"mechanism"});
  EXPECT_NE(unknown->findings.back().detail.find("did you mean 'srr'"), std::string::npos);
  certificate = Json::parse(made_text(small_content()));
  certificate["mechanisms"][0]["parameters"][0]["value"] = -1.0;
  certificate["mechanisms"][0]["parameters"][0]["value_hex"] = "-0x1p+0";
  EXPECT_EQ(broken(*examine_certificate(forged(certificate))),
            std::vector<std::string>{"mechanism"});
}

}  // namespace
}  // namespace sotto
