// A server of the digit classifier. It answers each POST of an image (784 little-endian float32, row by row) with the digit in it, as JSON.
//
//   tapc build examples/classifier/classifier.loom.json --emit=lib --name=digits -o libdigits.so
//   cc -O2 -I. examples/server/c/server.c ./libdigits.so -pthread -o server
//   ./server 8080
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "libdigits.h"

enum { THREADS = 4, HEAD = 8192, ERROR = 256 };

static int listener;

// Reads at least `least` bytes more, and at most as many as there is room for. 0: the other side has ended or is too slow.
static size_t read_more(int connection, char *to, size_t least, size_t room) {
  size_t n = 0;
  while (n < least) {
    ssize_t got = recv(connection, to + n, room - n, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    n += (size_t)got;
  }
  return n;
}

static void reply(int connection, const char *status, const char *body) {
  char text[HEAD];
  int n = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
                   strlen(body), body);
  for (int sent = 0; sent < n;) {
    ssize_t step = send(connection, text + sent, (size_t)(n - sent), 0);
    if (step <= 0) return;
    sent += (int)step;
  }
}

static long long content_length(const char *head) {
  for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
    if (!strncasecmp(line + 2, "content-length:", 15)) return strtoll(line + 17, NULL, 10);
  return -1;
}

// Reads a request and gives what is wrong with it, or NULL.
static const char *read_image(int connection, float *image) {
  char head[HEAD + 1];
  size_t n = 0;
  char *end = NULL;
  while (!end) {
    size_t got = n < HEAD ? read_more(connection, head + n, 1, HEAD - n) : 0;
    if (!got) return "expected a request";
    head[n += got] = 0;
    end = strstr(head, "\r\n\r\n");
  }
  size_t body = n - (size_t)(end + 4 - head);
  end[2] = 0;
  if (strncmp(head, "POST ", 5)) return "expected POST";
  if (content_length(head) != DIGITS_INPUT_IMAGE_BYTES) return "expected an image of 784 float32";
  if (body > DIGITS_INPUT_IMAGE_BYTES) return "expected one image";
  memcpy(image, end + 4, body);
  size_t rest = DIGITS_INPUT_IMAGE_BYTES - body;
  return !rest || read_more(connection, (char *)image + body, rest, rest) ? NULL : "expected an image of 784 float32";
}

static void answer(int connection, tapc_instance *digits) {
  float image[DIGITS_INPUT_IMAGE_COUNT], probabilities[DIGITS_OUTPUT_PROBABILITIES_COUNT];
  char error[ERROR], body[2 * ERROR];
  const char *wrong = read_image(connection, image);
  if (wrong) {
    snprintf(body, sizeof body, "{\"error\": \"%s\"}\n", wrong);
    reply(connection, "400 Bad Request", body);
  } else if (digits_run(digits, (const void *const[]){image}, (void *const[]){probabilities}, error, sizeof error)) {
    reply(connection, "500 Internal Server Error", "{\"error\": \"the model failed\"}\n");
  } else {
    int best = 0;
    for (int i = 1; i < DIGITS_OUTPUT_PROBABILITIES_COUNT; i++)
      if (probabilities[i] > probabilities[best]) best = i;
    snprintf(body, sizeof body, "{\"digit\": %d, \"probability\": %.3f}\n", best, (double)probabilities[best]);
    reply(connection, "200 OK", body);
  }
}

// Each thread has an instance of one thread, so that requests do not wait for each other.
static void *serve(void *instance) {
  while (listener >= 0) {
    int connection = accept(listener, NULL, NULL);
    if (connection < 0) continue;
    struct timeval patience = {.tv_sec = 10};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    answer(connection, instance);
    shutdown(connection, SHUT_WR);
    close(connection);
  }
  return NULL;
}

int main(int argc, char **argv) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 8080))};
  socklen_t length = sizeof at;
  char error[ERROR];
  signal(SIGPIPE, SIG_IGN);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 64) || getsockname(listener, (struct sockaddr *)&at, &length))
    return perror("server"), 1;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    tapc_instance *instance = digits_create(1, error, sizeof error);
    if (!instance) return fprintf(stderr, "server: %s\n", error), 1;
    if (pthread_create(&threads[i], NULL, serve, instance)) return fputs("server: no thread\n", stderr), 1;
  }
  printf("listening on 127.0.0.1:%d\n", ntohs(at.sin_port));
  fflush(stdout);
  pthread_join(threads[0], NULL);
  return 0;
}
