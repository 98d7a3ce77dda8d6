// Unpacks a raw deflate stream (RFC 1951), one table look-up per symbol.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { MAX_BITS = 15, MAX_SYMBOLS = 288, LENGTH_CODES = 29, DISTANCE_CODES = 30 };

// A prefix code: the next `bits` bits of the stream index into entry, whose low 4 bits are the length of the code
// and whose others are the symbol. 0: no such code.
typedef struct code {
  int bits;
  uint16_t entry[1 << MAX_BITS];
} code;

typedef struct stream {
  const unsigned char *at, *end;
  uint64_t window; // bits not yet used, lowest first
  int held;        // how many
  unsigned char *out;
  size_t room, used;
  code literal, distance;
} stream;

enum result { MORE, LAST, FULL, BAD }; // a block ended; the last did; out is full; not valid

static void fill(stream *s) {
  while (s->held <= 56 && s->at < s->end) {
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
  int count[MAX_BITS + 1] = {0}, longest = 0, used = 0;
  unsigned next[MAX_BITS + 2] = {0};
  for (int i = 0; i < n; i++) {
    count[lengths[i]]++;
    used += lengths[i] != 0;
    if (lengths[i] > longest) longest = lengths[i];
  }
  int left = 1;
  for (int b = 1; b <= MAX_BITS; b++) {
    left = left * 2 - count[b];
    if (left < 0) return 0;
    next[b + 1] = (next[b] + (unsigned)count[b]) << 1;
  }
  if (left > 0 && used > 1) return 0;
  if (used == 1 && longest != 1) return 0;
  c->bits = longest ? longest : 1;
  memset(c->entry, 0, sizeof c->entry[0] << c->bits);
  for (int i = 0; i < n; i++) {
    int length = lengths[i];
    if (!length) continue;
    unsigned first = reverse(next[length]++, length);
    for (unsigned at = first; at < 1u << c->bits; at += 1u << length) c->entry[at] = (uint16_t)(i << 4 | length);
  }
  return 1;
}

static int take_symbol(stream *s, const code *c) {
  if (s->held < MAX_BITS) fill(s);
  unsigned entry = c->entry[s->window & ((1u << c->bits) - 1)];
  int length = entry & 15;
  if (!length || length > s->held) return -1;
  s->window >>= length;
  s->held -= length;
  return (int)(entry >> 4);
}

static enum result stored_block(stream *s) {
  int drop = s->held & 7; // to the next byte
  s->window >>= drop;
  s->held -= drop;
  int length = take_bits(s, 16), check = take_bits(s, 16);
  if (length < 0 || check < 0 || (length ^ 0xffff) != check) return BAD;
  for (; length > 0 && s->held; length--) { // what is in the window already
    if (s->used == s->room) return FULL;
    s->out[s->used++] = (unsigned char)take_bits(s, 8);
  }
  size_t copy = (size_t)length;
  if ((size_t)(s->end - s->at) < copy) return BAD;
  int full = copy > s->room - s->used;
  if (full) copy = s->room - s->used;
  if (copy) memcpy(s->out + s->used, s->at, copy);
  s->at += copy;
  s->used += copy;
  return full ? FULL : MORE;
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
static int copy_back(stream *s, size_t length, size_t distance) {
  if (distance > s->used) return BAD;
  int full = length > s->room - s->used;
  if (full) length = s->room - s->used;
  unsigned char *to = s->out + s->used;
  if (distance >= length && length)
    memcpy(to, to - distance, length);
  else
    for (size_t i = 0; i < length; i++) to[i] = to[(ptrdiff_t)i - (ptrdiff_t)distance];
  s->used += length;
  return full ? FULL : MORE;
}

static enum result coded_block(stream *s) {
  static const uint16_t length_base[LENGTH_CODES] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                     31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const unsigned char length_extra[LENGTH_CODES] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                           2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  for (;;) {
    int symbol = take_symbol(s, &s->literal);
    if (symbol < 256) {
      if (symbol < 0) return BAD;
      if (s->used == s->room) return FULL;
      s->out[s->used++] = (unsigned char)symbol;
      continue;
    }
    if (symbol == 256) return MORE;
    if (symbol > 285) return BAD;
    int more = take_bits(s, length_extra[symbol - 257]);
    int from = more < 0 ? -1 : take_symbol(s, &s->distance);
    if (from < 0 || from >= DISTANCE_CODES) return BAD;
    // Distance code d: the first four are 1 to 4, then each pair doubles.
    int extra = from < 4 ? 0 : from / 2 - 1, low = take_bits(s, extra);
    if (low < 0) return BAD;
    size_t distance = (from < 4 ? (size_t)from : (size_t)(2 + from % 2) << extra) + 1 + (size_t)low;
    int result = copy_back(s, (size_t)length_base[symbol - 257] + (size_t)more, distance);
    if (result != MORE) return (enum result)result;
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

int64_t tapc_inflate(const unsigned char *source, size_t bytes, unsigned char *out, size_t room, int *ended) {
  stream *s = malloc(sizeof *s);
  if (!s) return -2;
  s->at = source;
  s->end = source + bytes;
  s->window = 0;
  s->held = 0;
  s->out = out;
  s->room = room;
  s->used = 0;
  enum result result = MORE;
  while (result == MORE) result = block(s);
  int64_t used = result == BAD ? -1 : (int64_t)s->used;
  *ended = result == LAST;
  free(s);
  return used;
}
