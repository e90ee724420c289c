// Writes the first inputs of every fuzz target: FOLDER/TARGET/NAME, from the makers of the tests.
#include "seeds.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "sotto/certificate.h"

namespace {

using sotto::fuzz::SeedFolder;
using sotto::make::Bytes;
namespace make = sotto::make;

/// Of round 7.
Bytes small_envelope() {
  Bytes out = make::bytes_of("SOT2");
  make::put_little(out, 7, 4);   // round
  make::put_little(out, 0, 8);   // position
  make::put_little(out, 3, 8);   // symbols
  make::put_little(out, 16, 1);  // bits of a symbol
  make::put_little(out, 6, 1);   // length of the id
  make::put(out, "srr.v1");
  make::put_little(out, 0x0001ffff0002, 6);
  return out;
}

std::string small_certificate() {
  auto layout = std::make_shared<sotto::Layout>();
  layout->add("w", {3}, sotto::TensorRole::kParameter);
  sotto::CertificateContent content;
  const sotto::Domain domain{layout, {{0.0, 1.0}}};
  content.mechanisms = {{"two-point", {{"epsilon", 1.0}}, domain}};
  std::shared_ptr<const sotto::Mechanism> mechanism =
      sotto::make_mechanism("two-point", domain, {{"epsilon", 1.0}}).value();
  content.exposure.turns = {sotto::turn_of(std::move(mechanism), 2, 100)};
  content.ledger = sotto::LedgerHead{4, std::string(64, '0')};
  return sotto::make_certificate(content, sotto::SigningKey::generate().value()).value();
}

void write_tables(const SeedFolder& seeds) {
  seeds.add("csv", "numbers", make::bytes_of("a,label,b\n1,0,2.5\n-3e2,1,4\n"));
  seeds.add("csv", "names", make::bytes_of("1,2,\"cat\"\r\n3,4,dog\r\n"));
  seeds.add("outputs", "three",
            make::bytes_of("\x03"
                           "1.5, -2e3\r\n+inf nan\n-0x 1\n"));
  seeds.add("outputs", "two",
            make::bytes_of("\x02"
                           "1\n-2.5\n"));
  seeds.add("leaf", "two_users", make::bytes_of(make::leaf()));
  const Bytes x = make::npy("<f4", "(2, 3)", make::counting(24));
  const Bytes y = make::npy("<i8", "(2,)", Bytes(16));
  seeds.add("npy", "floats", x);
  seeds.add("npy", "labels", y);
  seeds.add("zip", "stored", make::zip({{"x.npy", x, false}, {"y.npy", y, false}}));
  seeds.add("zip", "deflated", make::zip({{"x.npy", x, true}, {"y.npy", y, true}}));
}

void write_archives(const SeedFolder& seeds) {
  seeds.add("gzip", "small", make::gzip(make::counting(100)));
  seeds.add("tar", "plain", make::tar({{"a/", {}, '5'}, {"a/b", make::counting(5), '0'}}));
  seeds.add("tar", "long_name",
            make::tar({{"n", make::bytes_of("a/long/name"), 'L'}, {"b", make::counting(5), '0'}}));
  seeds.add(
      "tar", "pax",
      make::tar({{"n", make::bytes_of("14 path=a/bcd\n"), 'x'}, {"b", make::counting(5), '0'}}));
}

void write_images(const SeedFolder& seeds) {
  seeds.add("idx", "images", make::idx(0x803, {2, 2, 3}, make::counting(12)));
  seeds.add("idx", "colour", make::idx(0x804, {2, 1, 2, 3}, make::counting(12)));
  seeds.add("idx", "labels", make::idx(0x801, {4}, make::counting(4)));
  seeds.add("cifar", "record", make::cifar_record(3));
  seeds.add("mat5", "plain", make::svhn({10, 3}, false));
  seeds.add("mat5", "compressed", make::svhn({10, 3}, true));
  for (const unsigned channels : {1U, 3U}) {
    const std::string name = channels == 1 ? "grey" : "colour";
    seeds.add("image", name + ".jpg", make::sample_jpeg(9, channels));
    seeds.add("image", name + ".png", make::sample_png(9, channels));
  }
  const auto pixel = [](unsigned, unsigned y, unsigned x) {
    return static_cast<std::uint8_t>(x * y);
  };
  seeds.add("image", "progressive.jpg", make::jpeg(17, 9, 3, pixel, true));
  seeds.add("envelope", "three_symbols", small_envelope());
  seeds.add("certificate", "two-point", make::bytes_of(small_certificate()));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const SeedFolder seeds(arguments[1]);
  write_tables(seeds);
  write_archives(seeds);
  write_images(seeds);
  sotto::fuzz::write_identity(seeds, small_envelope());
  sotto::fuzz::write_federation(seeds, small_envelope());
  return 0;
}
