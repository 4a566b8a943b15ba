-- Documents in Liquid, documents in several languages, and their saved blocks.
ALTER TABLE template_versions ADD COLUMN template_syntax TEXT; -- 'liquid': its html begins with a mark that older programs refuse; NULL: plain
ALTER TABLE template_versions ADD COLUMN template_variants TEXT; -- JSON: variants by language; NULL: none
ALTER TABLE broadcast_contents ADD COLUMN content_syntax TEXT; -- 'liquid', or NULL: plain
ALTER TABLE broadcast_contents ADD COLUMN content_variants TEXT; -- JSON: variants by language; NULL: none
