-- 0008_languages.sql: the language of the mails to a user, such as de; mails are written by loops, which know no browser.
ALTER TABLE users ADD COLUMN language TEXT NOT NULL DEFAULT 'en';
