-- expand, outside a transaction
-- The live sessions of a person, however many have ended.
create index concurrently if not exists sessions_live on sessions (user_id, id) where ended_at is null;
