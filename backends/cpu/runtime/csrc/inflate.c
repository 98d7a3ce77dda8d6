// Unpacks a raw deflate stream (RFC 1951), one table look-up for most symbols. What goes in and what comes out pass through buffers of a fixed size.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { MAX_BITS = 15, MAX_SYMBOLS = 288, LENGTH_CODES = 29, DISTANCE_CODES = 30 };
enum { SHORT = 10 };                                          // bits of codes that the table has
enum { REACH = 1 << 15, ROOM = 2 * REACH, PACKED = 1 << 14 }; // how far back a copy reaches; bytes of the buffers

// A prefix code: the next bits of the stream index into entry, whose low 4 bits are the length of the code and whose others are the symbol. 0: a longer code, or none. How
// many codes have each length, and the symbols by length, are a code, too.
typedef struct code {
  uint16_t entry[1 << SHORT], count[MAX_BITS + 1], symbol[MAX_SYMBOLS];
} code;

typedef struct stream {
  const tapc_packed *packed;
  tapc_taker *taker;
  tapc_fault *fault;
  const unsigned char *at, *end; // of in
  uint64_t next;                 // bytes of the packed ones that were read into it
  uint64_t window;               // bits not yet used, lowest first
  int held;                      // how many
  uint64_t left;                 // bytes that are asked for and not yet given
  size_t used, given;            // bytes of out, and of these those that the taker has
  code literal, distance;
  unsigned char in[PACKED], out[ROOM];
} stream;

enum result { MORE, LAST, FULL, BAD }; // a block ended; the last did; nothing more is asked for; not valid, or not to be read

// Reads more of the packed bytes, where none are left; 0: there are no more, or they can not be read.
static int more(stream *s) {
  uint64_t rest = s->packed->bytes - s->next;
  size_t bytes = rest < PACKED ? (size_t)rest : PACKED;
  if (!bytes || s->fault->status || tapc_read_at(s->packed->fd, s->in, bytes, s->packed->offset + s->next, s->fault)) return 0;
  s->next += bytes;
  s->at = s->in;
  s->end = s->in + bytes;
  return 1;
}

// Hands over what is unpacked, and leaves of it what copies reach.
static void give(stream *s) {
  s->taker->take(s->taker, s->out + s->given, s->used - s->given);
  s->given = s->used;
  if (s->used <= REACH) return;
  memmove(s->out, s->out + s->used - REACH, REACH);
  s->used = s->given = REACH;
}

// How many of so many bytes there is room for in out, at least one; 0: nothing more is asked for.
static size_t room(stream *s, size_t bytes) {
  if (bytes > s->left) bytes = (size_t)s->left;
  if (bytes && s->used == ROOM) give(s);
  return bytes < ROOM - s->used ? bytes : ROOM - s->used;
}

// Takes note of bytes that are in out now.
static void add(stream *s, size_t bytes) {
  s->used += bytes;
  s->left -= bytes;
}

static void fill(stream *s) {
  while (s->held <= 56 && (s->at < s->end || more(s))) {
    s->window |= (uint64_t)*s->at++ << s->held;
    s->held += 8;
  }
}

// The next n bits (n <= 16), or -1 at the end.
static int take_bits(stream *s, int n) {
  if (s->held < n) fill(s);
  if (s->held < n) return -1;
  int value = (int)(s->window & ((1u << n) - 1));
  s->window >>= n;
  s->held -= n;
  return value;
}

static unsigned reverse(unsigned value, int bits) {
  unsigned result = 0;
  for (int i = 0; i < bits; i++) result |= (value >> i & 1) << (bits - 1 - i);
  return result;
}

// Builds a code from its lengths (0: unused). 0 when they do not make a code: too many, or too few
// unless there is one code of one bit or, for distances, none at all.
static int make_code(code *c, const unsigned char *lengths, int n) {
  int used = 0, longest = 0, left = 1;
  unsigned next[MAX_BITS + 2] = {0}, place[MAX_BITS + 2] = {0};
  memset(c, 0, sizeof *c);
  for (int i = 0; i < n; i++) {
    if (!lengths[i]) continue;
    c->count[lengths[i]]++;
    used++;
    if (lengths[i] > longest) longest = lengths[i];
  }
  for (int b = 1; b <= MAX_BITS; b++) {
    left = left * 2 - c->count[b];
    if (left < 0) return 0;
    next[b + 1] = (next[b] + c->count[b]) << 1;
    place[b + 1] = place[b] + c->count[b];
  }
  if (left > 0 && used > 1) return 0;
  if (used == 1 && longest != 1) return 0;
  for (int i = 0; i < n; i++) {
    int length = lengths[i];
    if (!length) continue;
    c->symbol[place[length]++] = (uint16_t)i;
    unsigned first = reverse(next[length]++, length);
    for (unsigned at = first; length <= SHORT && at < 1u << SHORT; at += 1u << length) c->entry[at] = (uint16_t)(i << 4 | length);
  }
  return 1;
}

// The symbol of a code that the table does not have, with its length in the low 4 bits: codes of a length are numbers that follow each other. -1: there is none.
static int long_symbol(const stream *s, const code *c) {
  int number = 0, first = 0, before = 0;
  for (int length = 1; length <= MAX_BITS; length++) {
    number = number << 1 | (int)(s->window >> (length - 1) & 1);
    int count = c->count[length];
    if (number - first < count) return c->symbol[before + number - first] << 4 | length;
    before += count;
    first = (first + count) << 1;
  }
  return -1;
}

static int take_symbol(stream *s, const code *c) {
  if (s->held < MAX_BITS) fill(s);
  int entry = c->entry[s->window & ((1u << SHORT) - 1)];
  if (!entry) entry = long_symbol(s, c);
  int length = entry & 15;
  if (entry < 0 || length > s->held) return -1;
  s->window >>= length;
  s->held -= length;
  return entry >> 4;
}

static enum result stored_block(stream *s) {
  int drop = s->held & 7; // to the next byte
  s->window >>= drop;
  s->held -= drop;
  int length = take_bits(s, 16), check = take_bits(s, 16);
  if (length < 0 || check < 0 || (length ^ 0xffff) != check) return BAD;
  for (; length > 0 && s->held; length--) { // what is in the window already
    if (!room(s, 1)) return FULL;
    s->out[s->used] = (unsigned char)take_bits(s, 8);
    add(s, 1);
  }
  while (length) {
    if (s->at == s->end && !more(s)) return BAD;
    size_t copy = (size_t)(s->end - s->at) < (size_t)length ? (size_t)(s->end - s->at) : (size_t)length;
    if (!(copy = room(s, copy))) return FULL;
    memcpy(s->out + s->used, s->at, copy);
    add(s, copy);
    s->at += copy;
    length -= (int)copy;
  }
  return MORE;
}

static int fixed_codes(stream *s) {
  unsigned char lengths[MAX_SYMBOLS];
  for (int i = 0; i < MAX_SYMBOLS; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  if (!make_code(&s->literal, lengths, MAX_SYMBOLS)) return 0;
  memset(lengths, 5, 32);
  return make_code(&s->distance, lengths, 32);
}

// The code lengths of a dynamic block, themselves coded: 16 repeats the last, 17 and 18 are runs of zeros.
static int take_lengths(stream *s, unsigned char *lengths, int n) {
  for (int i = 0; i < n;) {
    int symbol = take_symbol(s, &s->literal), last = 0, run;
    if (symbol < 0) return 0;
    if (symbol < 16) {
      lengths[i++] = (unsigned char)symbol;
      continue;
    }
    if (symbol == 16) {
      if (i == 0) return 0;
      last = lengths[i - 1];
    }
    run = symbol == 16 ? take_bits(s, 2) : symbol == 17 ? take_bits(s, 3) : take_bits(s, 7);
    if (run < 0) return 0;
    run += symbol == 18 ? 11 : 3;
    if (run > n - i) return 0;
    memset(lengths + i, last, (size_t)run);
    i += run;
  }
  return 1;
}

static int dynamic_codes(stream *s) {
  static const unsigned char order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  unsigned char lengths[MAX_SYMBOLS + 32] = {0};
  int literals = take_bits(s, 5), distances = take_bits(s, 5), codes = take_bits(s, 4);
  if (literals < 0 || distances < 0 || codes < 0) return 0;
  literals += 257;
  distances += 1;
  if (literals > 286 || distances > DISTANCE_CODES) return 0;
  for (int i = 0; i < codes + 4; i++) {
    int length = take_bits(s, 3);
    if (length < 0) return 0;
    lengths[order[i]] = (unsigned char)length;
  }
  if (!make_code(&s->literal, lengths, 19)) return 0;
  memset(lengths, 0, sizeof lengths);
  if (!take_lengths(s, lengths, literals + distances) || !lengths[256]) return 0;
  return make_code(&s->literal, lengths, literals) && make_code(&s->distance, lengths + literals, distances);
}

// Copies `length` bytes from `distance` back; the two may overlap.
static enum result copy_back(stream *s, size_t length, size_t distance) {
  while (length) {
    size_t bytes = room(s, length);
    if (!bytes) return FULL;
    if (distance > s->used) return BAD;
    unsigned char *to = s->out + s->used;
    if (distance >= bytes) memcpy(to, to - distance, bytes);
    else
      for (size_t i = 0; i < bytes; i++) to[i] = to[(ptrdiff_t)i - (ptrdiff_t)distance];
    add(s, bytes);
    length -= bytes;
  }
  return MORE;
}

static enum result coded_block(stream *s) {
  static const uint16_t length_base[LENGTH_CODES] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const unsigned char length_extra[LENGTH_CODES] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  for (;;) {
    int symbol = take_symbol(s, &s->literal);
    if (symbol < 256) {
      if (symbol < 0) return BAD;
      if (!room(s, 1)) return FULL;
      s->out[s->used] = (unsigned char)symbol;
      add(s, 1);
      continue;
    }
    if (symbol == 256) return MORE;
    if (symbol > 285) return BAD;
    int beyond = take_bits(s, length_extra[symbol - 257]);
    int from = beyond < 0 ? -1 : take_symbol(s, &s->distance);
    if (from < 0 || from >= DISTANCE_CODES) return BAD;
    // Distance code d: the first four are 1 to 4, then each pair doubles.
    int extra = from < 4 ? 0 : from / 2 - 1, low = take_bits(s, extra);
    if (low < 0) return BAD;
    size_t distance = (from < 4 ? (size_t)from : (size_t)(2 + from % 2) << extra) + 1 + (size_t)low;
    enum result result = copy_back(s, (size_t)length_base[symbol - 257] + (size_t)beyond, distance);
    if (result != MORE) return result;
  }
}

static enum result block(stream *s) {
  int last = take_bits(s, 1), kind = take_bits(s, 2);
  if (last < 0 || kind < 0 || kind == 3) return BAD;
  if (kind == 1 && !fixed_codes(s)) return BAD;
  if (kind == 2 && !dynamic_codes(s)) return BAD;
  enum result result = kind == 0 ? stored_block(s) : coded_block(s);
  return result == MORE && last ? LAST : result;
}

int tapc_inflate(const tapc_packed *packed, tapc_taker *taker, uint64_t bytes, uint64_t *missing, int *ended, tapc_fault *fault) {
  stream *s = malloc(sizeof *s);
  if (!s) return tapc_no_memory(fault, sizeof *s, "unpacking");
  s->packed = packed;
  s->taker = taker;
  s->fault = fault;
  s->at = s->end = s->in;
  s->next = s->window = 0;
  s->held = 0;
  s->left = bytes;
  s->used = s->given = 0;
  enum result result = MORE;
  while (result == MORE) result = block(s);
  give(s);
  *missing = s->left;
  *ended = result == LAST;
  free(s);
  if (result == BAD && !fault->status) return tapc_fail(fault, TAPC_INPUT, "damaged: the deflate stream is not valid");
  return fault->status;
}
