-- XXH3 (64 bits, seed 0) of a text of 64 ASCII characters, such as a SHA-256 in hex; null for another length. DuckDB has
-- no xxh3. For 64 bytes it is: the eight little-endian words, each mixed with a word of XXH3's secret, multiplied in the
-- pairs (0, 1), (6, 7), (2, 3), (4, 5); the halves of each product mixed; their sum and a constant of the length, stirred
-- by shifts and a product. Numbers are held in 128 bits and cut to 64. (The CASE is
-- innermost: DuckDB computes what recurs once, but not within one.)
CREATE MACRO xxh3_word(text, number, secret) AS (
    xor(('0x' || hex(reverse(substr(text, 8 * number + 1, 8))))::UBIGINT, secret::UBIGINT)::UHUGEINT
);
CREATE MACRO xxh3_low(number) AS (number & 18446744073709551615::UHUGEINT);
CREATE MACRO xxh3_halves(product) AS (xor(xxh3_low(product), product >> 64));
CREATE MACRO xxh3_sum(text) AS (
    xxh3_low(
        10222727370107953600::UHUGEINT
        + xxh3_halves(xxh3_word(text, 0, 13712233961653862072) * xxh3_word(text, 1, 2066345149520216444))
        + xxh3_halves(xxh3_word(text, 6, 15823274712020931806) * xxh3_word(text, 7, 2262974939099578482))
        + xxh3_halves(xxh3_word(text, 2, 8711581037947681227) * xxh3_word(text, 3, 2410270004345854594))
        + xxh3_halves(xxh3_word(text, 4, 10242386182634080440) * xxh3_word(text, 5, 5487137525590930912))
    )
);
CREATE MACRO xxh3_stirred(number) AS (xxh3_low(xor(number, number >> 37) * 1609587791953885689::UHUGEINT));
CREATE MACRO xxh3_ended(number) AS (xor(number, number >> 32)::UBIGINT);
CREATE MACRO xxh3_64(text) AS (
    xxh3_ended(xxh3_stirred(xxh3_sum(CASE WHEN strlen(text) = 64 THEN text END)))
);
