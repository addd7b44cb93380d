#include "security/certificates.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "security/identity.h"

namespace photonrail::security {
namespace {

template <auto free_function>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free_function(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Store = std::unique_ptr<X509_STORE, Free<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;

struct FreeStack {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_pop_free(stack, X509_free); }
};
using Stack = std::unique_ptr<STACK_OF(X509), FreeStack>;

constexpr unsigned kRanksMost = 65536;
constexpr int kCertificatesMost = 64;  // read from one PEM text

struct Authority {
  Key key;
  Certificate certificate;
};

tl::unexpected<Error> io(const std::string& path, int error) {
  return fail(ErrorCode::io, fmt::format("{}: {}", path, std::strerror(error)));
}

Error openssl_error(std::string_view what) { return {ErrorCode::io, fmt::format("OpenSSL cannot {}", what)}; }

Bio reader(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// ---- files

Status write_file(const std::string& path, std::string_view text, mode_t mode) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (file < 0) return io(path, errno);
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(file, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      ::close(file);
      return io(path, error);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::close(file) != 0) return io(path, errno);
  return {};
}

Result<std::string> pem_of_key(EVP_PKEY* key) {
  const Bio out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return fail(openssl_error("write a key"));
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<std::string> pem_of_certificate(X509* certificate) {
  const Bio out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_X509(out.get(), certificate) != 1) return fail(openssl_error("write a certificate"));
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Status save(const std::string& stem, EVP_PKEY* key, X509* certificate) {
  PR_ASSIGN(const std::string key_text, pem_of_key(key));
  PR_ASSIGN(const std::string certificate_text, pem_of_certificate(certificate));
  PR_TRY(write_file(stem + ".key", key_text, S_IRUSR | S_IWUSR));
  return write_file(stem + ".crt", certificate_text, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
}

// ---- certificates

Status add_extension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return fail(openssl_error(fmt::format("set {} to {}", OBJ_nid2sn(id), value)));
  }
  return {};
}

Status set_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return fail(openssl_error("draw a serial number"));
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, and never short
  BIGNUM* number = BN_bin2bn(bytes.data(), bytes.size(), nullptr);
  const bool set = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  if (!set) return fail(openssl_error("set a serial number"));
  return {};
}

Status set_common_name(X509* certificate, std::string_view name) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  const std::string cut(name.substr(0, 64));  // the most that a common name may have
  const auto* bytes = reinterpret_cast<const unsigned char*>(cut.data());
  if (X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, bytes, static_cast<int>(cut.size()), -1, 0) != 1) {
    return fail(openssl_error("name a certificate"));
  }
  return {};
}

Result<Certificate> blank(std::string_view name, EVP_PKEY* key, std::chrono::hours valid) {
  Certificate out(X509_new());
  if (!out || X509_set_version(out.get(), X509_VERSION_3) != 1) return fail(openssl_error("make a certificate"));
  PR_TRY(set_serial(out.get()));
  PR_TRY(set_common_name(out.get(), name));
  constexpr long kEarlier = 300;  // clocks differ
  X509_gmtime_adj(X509_getm_notBefore(out.get()), -kEarlier);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), std::chrono::duration_cast<std::chrono::seconds>(valid).count());
  if (X509_set_pubkey(out.get(), key) != 1) return fail(openssl_error("set a public key"));
  return out;
}

Result<Key> new_key() {
  Key key(EVP_EC_gen("P-256"));
  if (!key) return fail(openssl_error("make a key"));
  return key;
}

Status sign(X509* certificate, EVP_PKEY* key) {
  if (X509_sign(certificate, key, EVP_sha256()) == 0) return fail(openssl_error("sign a certificate"));
  return {};
}

Result<Authority> new_authority(const CertificatesSpec& spec) {
  Authority out;
  PR_ASSIGN(out.key, new_key());
  PR_ASSIGN(out.certificate, blank("photonrail trial authority of " + spec.site, out.key.get(), spec.valid));
  X509* c = out.certificate.get();
  X509_set_issuer_name(c, X509_get_subject_name(c));
  PR_TRY(add_extension(c, c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  PR_TRY(add_extension(c, c, NID_key_usage, "critical,keyCertSign,cRLSign"));
  PR_TRY(add_extension(c, c, NID_subject_key_identifier, "hash"));
  PR_TRY(sign(c, out.key.get()));
  return out;
}

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The authority of the directory, made where it is not there.
Result<Authority> authority_of(const CertificatesSpec& spec, std::vector<std::string>& written) {
  const std::string stem = spec.directory + "/ca";
  const auto certificate = text_of(stem + ".crt");
  const auto key = text_of(stem + ".key");
  if (certificate.has_value() != key.has_value()) {
    return fail(ErrorCode::io, fmt::format("{0}.crt and {0}.key: only one of the two is there", stem));
  }
  if (certificate) {
    Authority out;
    out.key.reset(PEM_read_bio_PrivateKey(reader(*key).get(), nullptr, nullptr, nullptr));
    out.certificate.reset(PEM_read_bio_X509(reader(*certificate).get(), nullptr, nullptr, nullptr));
    if (!out.key || !out.certificate || X509_check_private_key(out.certificate.get(), out.key.get()) != 1) {
      return fail(ErrorCode::invalid_input, fmt::format("{0}.crt and {0}.key do not belong together", stem));
    }
    return out;
  }
  PR_ASSIGN(Authority out, new_authority(spec));
  PR_TRY(save(stem, out.key.get(), out.certificate.get()));
  written.insert(written.end(), {"ca.crt", "ca.key"});
  return out;
}

bool is_address(const std::string& host) {
  const auto* found = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(const_cast<ASN1_OCTET_STRING*>(found));
  return found != nullptr;
}

struct Leaf {
  std::string file;   // without its end
  std::string names;  // subjectAltName, as OpenSSL writes it
  bool server = false;
};

Status issue(const Authority& authority, const CertificatesSpec& spec, const Leaf& leaf,
             std::vector<std::string>& written) {
  PR_ASSIGN(const Key key, new_key());
  PR_ASSIGN(const Certificate certificate, blank("photonrail " + leaf.file, key.get(), spec.valid));
  X509* c = certificate.get();
  X509* issuer = authority.certificate.get();
  X509_set_issuer_name(c, X509_get_subject_name(issuer));
  PR_TRY(add_extension(c, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  PR_TRY(add_extension(c, issuer, NID_key_usage, "critical,digitalSignature"));
  PR_TRY(add_extension(c, issuer, NID_ext_key_usage, leaf.server ? "serverAuth,clientAuth" : "clientAuth"));
  PR_TRY(add_extension(c, issuer, NID_authority_key_identifier, "keyid"));
  PR_TRY(add_extension(c, issuer, NID_subject_alt_name, leaf.names));
  PR_TRY(sign(c, authority.key.get()));
  PR_TRY(save(spec.directory + "/" + leaf.file, key.get(), c));
  written.insert(written.end(), {leaf.file + ".crt", leaf.file + ".key"});
  return {};
}

Result<std::vector<Leaf>> leaves_of(const CertificatesSpec& spec) {
  if (!valid_name(spec.site)) return fail(ErrorCode::usage, fmt::format("\"{}\" is no name for a site", spec.site));
  if (spec.ranks > kRanksMost) return fail(ErrorCode::usage, fmt::format("at most {} ranks", kRanksMost));
  std::string hosts = fmt::format("URI:spiffe://{}/daemon", spec.site);
  for (const std::string& host : spec.hosts) {
    if (host.find_first_of(",: \n") != host.npos && !is_address(host)) {
      return fail(ErrorCode::usage, fmt::format("\"{}\" is neither a host name nor an address", host));
    }
    hosts += fmt::format(",{}:{}", is_address(host) ? "IP" : "DNS", host);
  }
  std::vector<Leaf> out = {{"daemon", hosts, true}};
  for (const char* role : {"operator", "scheduler", "viewer"}) {
    out.push_back({role, fmt::format("URI:spiffe://{}/role/{}", spec.site, role), false});
  }
  for (const std::string& job : spec.jobs) {
    if (!valid_name(job)) return fail(ErrorCode::usage, fmt::format("\"{}\" is no name for a job", job));
    out.push_back({"job-" + job, fmt::format("URI:spiffe://{}/job/{}", spec.site, job), false});
    for (unsigned rank = 0; rank < spec.ranks; ++rank) {
      out.push_back({fmt::format("job-{}-rank-{}", job, rank),
                     fmt::format("URI:spiffe://{}/job/{}/rank/{}", spec.site, job, rank), false});
    }
  }
  return out;
}

Stack certificates_in(std::string_view pem) {
  Stack out(sk_X509_new_null());
  const Bio in = reader(pem);
  for (int i = 0; i < kCertificatesMost; ++i) {
    X509* one = PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr);
    if (one == nullptr) break;
    sk_X509_push(out.get(), one);
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> make_certificates(const CertificatesSpec& spec) {
  PR_ASSIGN(const std::vector<Leaf> leaves, leaves_of(spec));
  if (::mkdir(spec.directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) return io(spec.directory, errno);
  std::vector<std::string> written;
  PR_ASSIGN(const Authority authority, authority_of(spec, written));
  for (const Leaf& leaf : leaves) PR_TRY(issue(authority, spec, leaf, written));
  return written;
}

std::optional<std::chrono::system_clock::time_point> not_after(std::string_view pem) {
  const Certificate certificate(PEM_read_bio_X509(reader(pem).get(), nullptr, nullptr, nullptr));
  if (!certificate) return std::nullopt;
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &parts) != 1) return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

bool chains_to(std::string_view pem, std::string_view roots) {
  const Stack chain = certificates_in(pem);
  const Stack trusted = certificates_in(roots);
  if (sk_X509_num(chain.get()) == 0) return false;
  const Store store(X509_STORE_new());
  for (int i = 0; i < sk_X509_num(trusted.get()); ++i)
    X509_STORE_add_cert(store.get(), sk_X509_value(trusted.get(), i));
  const StoreContext context(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(context.get(), store.get(), sk_X509_value(chain.get(), 0), chain.get()) != 1) return false;
  X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_CLIENT);
  return X509_verify_cert(context.get()) == 1;
}

}  // namespace photonrail::security
