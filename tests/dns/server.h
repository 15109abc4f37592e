#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

// A name server on loopback, over UDP and TCP, whose answers a test decides.
namespace berth::dns::test {

enum class Transport { udp, tcp };

struct Question {
  std::string id;    // two bytes
  std::string name;  // lower case, without a dot at the end
  int type = 0;
  std::string wire;  // the question section as it was received
  Transport transport = Transport::udp;
};

struct Record {
  std::string name;
  int type = 0;
  std::string data;
};
Record address(const std::string& name, const std::string& ip);  // an A or AAAA record
Record alias(const std::string& name, const std::string& target);
Record text(const std::string& name, const std::vector<std::string>& strings);

inline constexpr int no_error = 0, server_failure = 2, no_such_name = 3, refused = 5;

// Returns an answer's bytes. `flags` are added to QR, RD and RA.
std::string reply(const Question& question, const std::vector<Record>& records,
                  int rcode = no_error, int flags = 0);
inline constexpr int truncated = 0x0200;

class Server {
 public:
  // Returns what is sent back, each element as a message of its own; nothing means silence.
  using Handler = std::function<std::vector<std::string>(const Question&)>;
  explicit Server(Handler handler);
  ~Server();
  std::string text() const { return "127.0.0.1:" + std::to_string(port_); }
  int questions() const { return questions_; }

 private:
  void serve(const std::stop_token& stop);
  void serve_udp();
  void serve_tcp();
  std::vector<std::string> answer(const std::string& bytes, Transport transport);

  const Handler handler_;
  int udp_ = -1;
  int tcp_ = -1;
  int port_ = 0;
  std::atomic<int> questions_ = 0;
  std::jthread thread_;
};

// Answers from a zone, as a server does that knows no other zone: with one record of a CNAME chain
// at a time.
std::vector<std::string> from_zone(const Question& question, const std::vector<Record>& zone);

}  // namespace berth::dns::test
