-- The embed plane: keys that sign its tokens, and which of the issued keys were created in it.

-- Readable by the owning role alone, so that every process signs and verifies with the same keys. A key is published
-- before it signs, and verifies for a while after its successor has begun to sign.
create table signing_keys (
  -- The RFC 7638 thumbprint of the public half.
  kid text primary key constraint signing_keys_kid_form check (kid ~ '^[A-Za-z0-9_-]{43}$'),
  -- A P-256 key in PKCS #8.
  private_key bytea not null,
  signs_from timestamptz(3) not null,
  created_at timestamptz(3) not null default service_now()
);

-- When a key was created in the embed plane, by the store's clock; null for keys created elsewhere. It counts for the
-- caps of that plane, in number and per minute.
alter table api_keys add column embedded_at timestamptz(3);
create index api_keys_embedded on api_keys (workspace_id, tenant_id, embedded_at) where embedded_at is not null;
