-- 0031_labels.sql: labels, by which operators tell their deployments apart.

-- A JSON object of texts, with its keys in order and without blanks.
ALTER TABLE deployments ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';
