-- Pattern $symbol of the grammar learned last, and how many subgraphs have its op sequence.
SELECT
    patterns.*,
    (SELECT count(*) FROM subgraphs WHERE kind = 'classical' AND op_sequence = patterns.expansion) AS subgraphs
FROM patterns
WHERE symbol = $symbol AND grammar_id = (SELECT grammar_id FROM grammars ORDER BY "at" DESC, grammar_id LIMIT 1);
