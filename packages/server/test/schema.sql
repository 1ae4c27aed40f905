table api_keys row level security
  workspace_id uuid not null
  id uuid not null
  project_id uuid not null
  tenant_id uuid not null
  env text not null
  name text
  display_prefix text not null
  lookup_hash bytea not null
  scopes text[] not null default '{}'::text[]
  meta json not null default '{}'::json
  rate_limits jsonb
  expires_at timestamp(3) with time zone
  revoked_at timestamp(3) with time zone
  revoked_reason text
  rotated_from uuid
  rotated_to uuid
  overlap_ends_at timestamp(3) with time zone
  last_used_at timestamp(3) with time zone
  created_at timestamp(3) with time zone not null
  updated_at timestamp(3) with time zone not null
  original_expires_at timestamp(3) with time zone
  embedded_at timestamp(3) with time zone
  is_revoked boolean default (revoked_at IS NOT NULL)
  name_folded text default lower(("left"(name, 64) COLLATE "C"))
  display_prefix_folded text default lower(("left"(display_prefix, 64) COLLATE "C"))
  idle_since timestamp(3) with time zone not null default service_now()
  made_by uuid
  disabled_at timestamp with time zone
  disabled_reason text
  disabled_by text
  allowed_cidrs text[]
  imported_at timestamp(3) with time zone
  source_id text
  constraint api_keys_row_checked CHECK (api_keys_row_checked(env, lookup_hash, meta, name, rate_limits, revoked_reason, scopes, disabled_at, disabled_reason, disabled_by, allowed_cidrs, source_id))
  constraint api_keys_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint api_keys_workspace_id_project_id_fkey FOREIGN KEY (workspace_id, project_id) REFERENCES projects(workspace_id, id)
  constraint api_keys_workspace_id_tenant_id_fkey FOREIGN KEY (workspace_id, tenant_id) REFERENCES tenants(workspace_id, id)
  constraint api_keys_pkey PRIMARY KEY (workspace_id, id)
  CREATE INDEX api_keys_by_display_prefix_folded ON public.api_keys USING btree (workspace_id, env, is_revoked, display_prefix_folded, id)
  CREATE INDEX api_keys_by_idleness ON public.api_keys USING btree (workspace_id, env, idle_since, id) WHERE (revoked_at IS NULL)
  CREATE INDEX api_keys_by_name_folded ON public.api_keys USING btree (workspace_id, env, is_revoked, name_folded, id) WHERE (name_folded IS NOT NULL)
  CREATE INDEX api_keys_by_rest ON public.api_keys USING btree (GREATEST(LEAST(revoked_at, expires_at), created_at, revoked_at)) WHERE ((revoked_at IS NOT NULL) OR (expires_at IS NOT NULL))
  CREATE INDEX api_keys_by_rest_here ON public.api_keys USING btree (GREATEST(LEAST(revoked_at, expires_at), created_at, revoked_at, imported_at)) WHERE ((revoked_at IS NOT NULL) OR (expires_at IS NOT NULL))
  CREATE INDEX api_keys_by_revocation ON public.api_keys USING btree (workspace_id, env, is_revoked, id)
  CREATE INDEX api_keys_embedded ON public.api_keys USING btree (workspace_id, tenant_id, embedded_at) WHERE (embedded_at IS NOT NULL)
  CREATE INDEX api_keys_in_project ON public.api_keys USING btree (workspace_id, project_id, is_revoked, id)
  CREATE INDEX api_keys_of_tenant ON public.api_keys USING btree (workspace_id, tenant_id, is_revoked, id)
  CREATE INDEX api_keys_paused ON public.api_keys USING btree (workspace_id, env, id) WHERE ((disabled_at IS NOT NULL) AND (NOT is_revoked))
  CREATE INDEX api_keys_unrevoked_by_expiry ON public.api_keys USING btree (workspace_id, env, expires_at, id) WHERE (revoked_at IS NULL)
  CREATE UNIQUE INDEX api_keys_lookup_hash_unique ON public.api_keys USING btree (workspace_id, lookup_hash)
  policy api_keys_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table audit_addresses row level security
  workspace_id uuid not null
  seq bigint not null
  path text not null
  address text not null
  salt bytea not null
  constraint audit_addresses_salt_length CHECK ((octet_length(salt) = 16))
  constraint audit_addresses_workspace_id_seq_fkey FOREIGN KEY (workspace_id, seq) REFERENCES audit_logs(workspace_id, seq)
  constraint audit_addresses_pkey PRIMARY KEY (workspace_id, seq, path)
  policy audit_addresses_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select to keyrail_app

table audit_callers row level security
  workspace_id uuid not null
  first_seq bigint not null
  last_seq bigint not null
  ip text not null
  constraint audit_callers_checked CHECK (audit_callers_checked(ip, first_seq, last_seq))
  constraint audit_callers_pkey PRIMARY KEY (workspace_id, first_seq)
  policy audit_callers_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select to keyrail_app

table audit_heads row level security
  workspace_id uuid not null
  seq bigint not null
  hash bytea not null
  verified_at timestamp(3) with time zone
  verification_due_at timestamp(3) with time zone
  first_bad_seq bigint
  constraint audit_heads_hash_length CHECK ((octet_length(hash) = 32))
  constraint audit_heads_seq CHECK ((seq >= 0))
  constraint audit_heads_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint audit_heads_pkey PRIMARY KEY (workspace_id)
  policy audit_heads_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table audit_logs row level security
  workspace_id uuid not null
  seq bigint not null
  action text not null
  actor_type text not null
  actor_id text
  target_type text not null
  target_id uuid not null
  env text
  payload text not null
  created_at timestamp(3) with time zone not null
  prev_hash bytea not null
  hash bytea not null
  constraint audit_logs_checked CHECK (audit_logs_checked(seq, action, actor_type, actor_id, target_type, env, payload, prev_hash, hash))
  constraint audit_logs_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint audit_logs_pkey PRIMARY KEY (workspace_id, seq)
  CREATE INDEX audit_logs_by_action ON public.audit_logs USING btree (workspace_id, action, (
CASE
    WHEN (env IS NULL) THEN ''::text
    ELSE env
END), seq)
  CREATE INDEX audit_logs_by_actor ON public.audit_logs USING btree (workspace_id, actor_id, action, (
CASE
    WHEN (env IS NULL) THEN ''::text
    ELSE env
END), seq) WHERE (actor_id IS NOT NULL)
  CREATE INDEX audit_logs_by_target ON public.audit_logs USING btree (workspace_id, target_id, seq)
  CREATE INDEX audit_logs_of_test ON public.audit_logs USING btree (workspace_id, seq) WHERE (COALESCE(env, 'test'::text) = 'test'::text)
  policy audit_logs_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select to keyrail_app

table bulk_operations row level security
  workspace_id uuid not null
  id uuid not null
  action text not null
  reason text
  actor_type text not null
  actor_id text
  envs text[] not null
  project_ids uuid[]
  filter jsonb
  after_id uuid
  batches integer not null default 0
  places text[] default '{}'::text[]
  matched integer not null
  done integer not null default 0
  failures jsonb not null default '[]'::jsonb
  created_at timestamp(3) with time zone not null
  finished_at timestamp(3) with time zone
  tried_at timestamp(3) with time zone
  leased_until timestamp(3) with time zone
  constraint bulk_operations_row_checked CHECK (bulk_operations_row_checked(action, reason, actor_type, actor_id, envs, project_ids, filter, places, matched, done, batches, failures, finished_at))
  constraint bulk_operations_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint bulk_operations_pkey PRIMARY KEY (workspace_id, id)
  CREATE INDEX bulk_operations_by_end ON public.bulk_operations USING btree (finished_at) WHERE (finished_at IS NOT NULL)
  CREATE INDEX bulk_operations_undone ON public.bulk_operations USING btree (workspace_id, tried_at) WHERE (finished_at IS NULL)
  policy bulk_operations_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table credentials row level security
  digest bytea not null
  kind text not null
  workspace_id uuid
  id uuid not null
  constraint credentials_checked CHECK (credentials_checked(kind, digest))
  constraint credentials_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint credentials_pkey PRIMARY KEY (digest)
  CREATE INDEX credentials_secret_keys ON public.credentials USING btree (workspace_id, id) WHERE (kind = 'secret_key'::text)
  CREATE INDEX credentials_sessions ON public.credentials USING btree (id) WHERE (kind = 'session'::text)
  CREATE INDEX credentials_workspace ON public.credentials USING btree (workspace_id)
  policy credentials_scope permissive for * to keyrail_app using ((((workspace_id = app_workspace_id()) AND (kind <> 'session'::text)) OR ((workspace_id IS NULL) AND (kind = 'session'::text) AND (EXISTS ( SELECT
   FROM sessions s
  WHERE ((s.id = credentials.id) AND (s.user_id = app_user_id()))))))) with check (the same)
  grant insert to keyrail_app

table disownings row level security
  user_id uuid not null
  token_digest bytea
  token_expires_at timestamp(3) with time zone
  began_at timestamp(3) with time zone
  reached uuid
  done_at timestamp(3) with time zone
  constraint disownings_token_digest_length CHECK ((octet_length(token_digest) = 32))
  constraint disownings_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
  constraint disownings_pkey PRIMARY KEY (user_id)
  CREATE INDEX disownings_undone ON public.disownings USING btree (began_at) WHERE ((began_at IS NOT NULL) AND (done_at IS NULL))
  policy disownings_scope permissive for * to keyrail_app using ((user_id = app_user_id())) with check (the same)
  grant insert, select, update to keyrail_app

table endings row level security
  workspace_id uuid not null
  maker_type text not null
  maker_id uuid not null
  revokes_keys boolean not null
  actor_type text not null
  actor_id text
  began_at timestamp(3) with time zone not null
  secret_keys_revoked integer not null default 0
  invitations_revoked integer not null default 0
  done_at timestamp(3) with time zone
  tried_at timestamp(3) with time zone
  constraint endings_invitations_revoked CHECK ((invitations_revoked >= 0))
  constraint endings_maker_type CHECK ((maker_type = ANY (ARRAY['user'::text, 'secret_key'::text, 'session'::text])))
  constraint endings_secret_keys_revoked CHECK ((secret_keys_revoked >= 0))
  constraint endings_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint endings_pkey PRIMARY KEY (workspace_id, maker_type, maker_id)
  CREATE INDEX endings_undone ON public.endings USING btree (began_at) WHERE (done_at IS NULL)
  policy endings_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table idempotency_bodies row level security
  workspace_id uuid not null
  env text not null
  scope_hash bytea not null
  lock_token text not null
  headers json not null
  body bytea not null
  expires_at timestamp(3) with time zone not null
  constraint idempotency_bodies_body_bounds CHECK ((octet_length(body) <= 4718592))
  constraint idempotency_bodies_env CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
  constraint idempotency_bodies_headers_bounds CHECK (((json_typeof(headers) = 'object'::text) AND (octet_length((headers)::text) <= 8388608)))
  constraint idempotency_bodies_lock_token_bounds CHECK (((char_length(lock_token) >= 8) AND (char_length(lock_token) <= 64)))
  constraint idempotency_bodies_scope_hash_length CHECK ((octet_length(scope_hash) = 32))
  constraint idempotency_bodies_pkey PRIMARY KEY (workspace_id, env, scope_hash)
  CREATE INDEX idempotency_bodies_by_expiry ON public.idempotency_bodies USING btree (expires_at)
  policy idempotency_bodies_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table idempotency_claims row level security
  workspace_id uuid not null
  env text not null
  scope_hash bytea not null
  fingerprint bytea not null
  lock_token text not null
  claimed_at timestamp(3) with time zone not null
  locked_until timestamp(3) with time zone not null
  ttl_ms integer not null
  expires_at timestamp(3) with time zone not null
  status smallint
  answer_bytes integer
  kept_until timestamp(3) with time zone not null
  constraint idempotency_claims_answer_bytes_bounds CHECK ((answer_bytes >= 0))
  constraint idempotency_claims_answered CHECK (((answer_bytes IS NULL) OR (status IS NOT NULL)))
  constraint idempotency_claims_env CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
  constraint idempotency_claims_fingerprint_length CHECK ((octet_length(fingerprint) = 32))
  constraint idempotency_claims_kept_until CHECK ((kept_until >= expires_at))
  constraint idempotency_claims_lock_token_bounds CHECK (((char_length(lock_token) >= 8) AND (char_length(lock_token) <= 64)))
  constraint idempotency_claims_scope_hash_length CHECK ((octet_length(scope_hash) = 32))
  constraint idempotency_claims_status_bounds CHECK (((status >= 100) AND (status <= 599)))
  constraint idempotency_claims_ttl_bounds CHECK (((ttl_ms >= 60000) AND (ttl_ms <= 604800000)))
  constraint idempotency_claims_pkey PRIMARY KEY (workspace_id, env, scope_hash)
  CREATE INDEX idempotency_claims_by_expiry ON public.idempotency_claims USING btree (kept_until)
  policy idempotency_claims_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant select, update to keyrail_app

table idempotency_held row level security
  workspace_id uuid not null
  env text not null
  project_id uuid not null
  ends_at timestamp(3) with time zone not null
  bytes bigint not null
  constraint idempotency_held_bytes_bounds CHECK ((bytes >= 0))
  constraint idempotency_held_env CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
  constraint idempotency_held_pkey PRIMARY KEY (workspace_id, env, project_id, ends_at)
  CREATE INDEX idempotency_held_by_end ON public.idempotency_held USING btree (ends_at)
  policy idempotency_held_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)

table idempotency_stored row level security
  workspace_id uuid not null
  ends_at timestamp(3) with time zone not null
  bytes bigint not null
  constraint idempotency_stored_bytes_bounds CHECK ((bytes >= 0))
  constraint idempotency_stored_pkey PRIMARY KEY (workspace_id, ends_at)
  CREATE INDEX idempotency_stored_by_end ON public.idempotency_stored USING btree (ends_at)
  policy idempotency_stored_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)

table keyrail_migrations
  id integer not null default nextval('keyrail_migrations_id_seq'::regclass)
  name character varying(255) not null
  run_on timestamp without time zone not null
  constraint keyrail_migrations_pkey PRIMARY KEY (id)

table leak_letters row level security
  workspace_id uuid not null
  letter_id uuid not null
  noted_at timestamp(3) with time zone not null
  constraint leak_letters_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint leak_letters_pkey PRIMARY KEY (workspace_id, letter_id)
  policy leak_letters_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant delete, insert, select to keyrail_app

table leak_reports row level security
  workspace_id uuid not null
  credential_id uuid not null
  kind text not null
  display_prefix text not null
  url text
  source text
  reported_at timestamp(3) with time zone not null
  secret_keys_revoked integer not null default 0
  invitations_revoked integer not null default 0
  letter_id uuid
  constraint leak_reports_display_prefix_bounds CHECK (((char_length(display_prefix) >= 1) AND (char_length(display_prefix) <= 64)))
  constraint leak_reports_invitations_revoked CHECK ((invitations_revoked >= 0))
  constraint leak_reports_kind CHECK ((kind = ANY (ARRAY['api_key'::text, 'secret_key'::text, 'session'::text])))
  constraint leak_reports_secret_keys_revoked CHECK ((secret_keys_revoked >= 0))
  constraint leak_reports_source_bounds CHECK (((char_length(source) >= 1) AND (char_length(source) <= 200)))
  constraint leak_reports_url_bounds CHECK (((char_length(url) >= 1) AND (char_length(url) <= 2000)))
  constraint leak_reports_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint leak_reports_pkey PRIMARY KEY (workspace_id, credential_id)
  CREATE INDEX leak_reports_by_time ON public.leak_reports USING btree (reported_at)
  policy leak_reports_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select to keyrail_app

table letter_counts
  sender_hash bytea not null
  sent_at timestamp with time zone[] not null
  expires_at timestamp(3) with time zone not null
  constraint letter_counts_sender_hash_length CHECK ((octet_length(sender_hash) = 32))
  constraint letter_counts_sent_at_bounds CHECK (((cardinality(sent_at) >= 1) AND (cardinality(sent_at) <= 1000)))
  constraint letter_counts_pkey PRIMARY KEY (sender_hash)
  CREATE INDEX letter_counts_by_expiry ON public.letter_counts USING btree (expires_at)

table mail_throttles
  address_hash bytea not null
  kind text not null
  queued_at timestamp with time zone[] not null
  expires_at timestamp(3) with time zone not null
  gathering_until timestamp(3) with time zone
  constraint mail_throttles_address_hash_length CHECK ((octet_length(address_hash) = 32))
  constraint mail_throttles_kind_bounds CHECK ((kind ~ '^[a-z][a-z_]{0,39}$'::text))
  constraint mail_throttles_queued_at_bounds CHECK (((cardinality(queued_at) >= 1) AND (cardinality(queued_at) <= 5)))
  constraint mail_throttles_pkey PRIMARY KEY (address_hash, kind)
  CREATE INDEX mail_throttles_by_expiry ON public.mail_throttles USING btree (expires_at)

table mail_tokens row level security
  user_id uuid not null
  kind text not null
  digest bytea not null
  created_at timestamp(3) with time zone not null
  expires_at timestamp(3) with time zone not null
  used_at timestamp(3) with time zone
  constraint mail_tokens_digest_length CHECK ((octet_length(digest) = 32))
  constraint mail_tokens_kind CHECK ((kind = ANY (ARRAY['verification'::text, 'password_reset'::text])))
  constraint mail_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
  constraint mail_tokens_pkey PRIMARY KEY (user_id, kind)
  CREATE INDEX mail_tokens_by_end ON public.mail_tokens USING btree (LEAST(used_at, expires_at))
  policy mail_tokens_scope permissive for * to keyrail_app using ((user_id = app_user_id())) with check (the same)
  grant insert, select, update to keyrail_app

table name_words row level security
  workspace_id uuid not null
  list text not null
  word text not null
  id uuid not null
  constraint name_words_word_bounds CHECK (((char_length(word) >= 1) AND (char_length(word) <= 64)))
  constraint name_words_pkey PRIMARY KEY (workspace_id, list, word, id)
  policy name_words_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant delete, insert, select to keyrail_app

table policy_changes row level security
  workspace_id uuid not null
  project_id uuid not null
  version bigint not null
  key_id uuid not null
  changed_at timestamp(3) with time zone not null default service_now()
  constraint policy_changes_workspace_id_key_id_fkey FOREIGN KEY (workspace_id, key_id) REFERENCES api_keys(workspace_id, id)
  constraint policy_changes_workspace_id_project_id_fkey FOREIGN KEY (workspace_id, project_id) REFERENCES policy_heads(workspace_id, project_id)
  constraint policy_changes_pkey PRIMARY KEY (workspace_id, project_id, version, key_id)
  CREATE INDEX policy_changes_by_key ON public.policy_changes USING btree (workspace_id, key_id)
  policy policy_changes_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select to keyrail_app

table policy_heads row level security
  workspace_id uuid not null
  project_id uuid not null
  version bigint not null default 1
  floor bigint not null default 1
  project_deleted boolean not null default false
  raised_by bigint not null default COALESCE(store_raised_by(), (0)::bigint)
  accepts_imported boolean not null default false
  constraint policy_heads_floor CHECK (((floor >= 1) AND (floor <= version)))
  constraint policy_heads_workspace_id_project_id_fkey FOREIGN KEY (workspace_id, project_id) REFERENCES projects(workspace_id, id)
  constraint policy_heads_pkey PRIMARY KEY (workspace_id, project_id)
  policy policy_heads_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table policy_nodes row level security
  workspace_id uuid not null
  project_id uuid not null
  sees text not null
  node text not null
  version bigint not null
  seen_at timestamp(3) with time zone not null
  held_keys integer
  held_keys_max integer
  constraint policy_nodes_node_bounds CHECK ((node ~ '^[A-Za-z0-9._:-]{1,128}$'::text))
  constraint policy_nodes_sees CHECK ((sees = ANY (ARRAY['live'::text, 'test'::text, 'both'::text])))
  constraint policy_nodes_version CHECK ((version >= 0))
  constraint policy_nodes_pkey PRIMARY KEY (workspace_id, project_id, sees, node)
  policy policy_nodes_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant select to keyrail_app

table policy_tenants row level security
  workspace_id uuid not null
  project_id uuid not null
  tenant_id uuid not null
  version bigint not null
  suspended_version bigint
  networks_version bigint
  constraint policy_tenants_workspace_id_project_id_fkey FOREIGN KEY (workspace_id, project_id) REFERENCES policy_heads(workspace_id, project_id)
  constraint policy_tenants_workspace_id_tenant_id_fkey FOREIGN KEY (workspace_id, tenant_id) REFERENCES tenants(workspace_id, id)
  constraint policy_tenants_pkey PRIMARY KEY (workspace_id, project_id, tenant_id)
  CREATE INDEX policy_tenants_by_networks ON public.policy_tenants USING btree (workspace_id, project_id, networks_version) WHERE (networks_version IS NOT NULL)
  CREATE INDEX policy_tenants_by_suspension ON public.policy_tenants USING btree (workspace_id, project_id, suspended_version) WHERE (suspended_version IS NOT NULL)
  CREATE INDEX policy_tenants_by_version ON public.policy_tenants USING btree (workspace_id, project_id, version)
  policy policy_tenants_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table projects row level security
  workspace_id uuid not null
  id uuid not null
  name text not null
  slug text not null
  key_prefix text not null default 'kr'::text
  default_rate_limits jsonb not null default '[]'::jsonb
  created_at timestamp(3) with time zone not null
  updated_at timestamp(3) with time zone not null
  deleted_at timestamp(3) with time zone
  name_folded text default lower(("left"(name, 64) COLLATE "C"))
  known_scopes text[]
  strict_scopes boolean not null default false
  max_key_lifetime_days integer
  lifetime text not null default 'report'::text
  delete_protection boolean not null default false
  accepts_imported boolean not null default false
  constraint projects_default_rate_limits_bounds CHECK (rate_limits_valid(default_rate_limits))
  constraint projects_key_prefix_bounds CHECK (((key_prefix ~ '^[a-z][a-z0-9]{1,15}$'::text) AND (key_prefix <> ALL (ARRAY['krsk'::text, 'krses'::text, 'sk'::text, 'pk'::text, 'rk'::text, 'ghp'::text]))))
  constraint projects_known_scopes_bounds CHECK (((known_scopes IS NULL) OR (((cardinality(known_scopes) >= 1) AND (cardinality(known_scopes) <= 200)) AND lengths_between(known_scopes, 1, 200))))
  constraint projects_lifetime CHECK ((lifetime = ANY (ARRAY['report'::text, 'refuse'::text])))
  constraint projects_max_key_lifetime_days_bounds CHECK (((max_key_lifetime_days >= 1) AND (max_key_lifetime_days <= 3650)))
  constraint projects_name_bounds CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200)))
  constraint projects_slug_bounds CHECK ((slug ~ '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$'::text))
  constraint projects_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint projects_pkey PRIMARY KEY (workspace_id, id)
  CREATE INDEX projects_by_name_folded ON public.projects USING btree (workspace_id, name_folded, id) WHERE (deleted_at IS NULL)
  CREATE UNIQUE INDEX projects_slug_unique ON public.projects USING btree (workspace_id, slug) WHERE (deleted_at IS NULL)
  policy projects_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table rate_counters row level security
  workspace_id uuid not null
  project_id uuid not null
  env text not null
  kind text not null
  subject_id uuid not null
  cells text not null
  expires_at timestamp(3) with time zone not null
  constraint rate_counters_cells CHECK (((cells ~~ '[%]'::text) AND (octet_length(cells) <= 65536)))
  constraint rate_counters_env CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
  constraint rate_counters_kind CHECK ((kind = ANY (ARRAY['key'::text, 'tenant'::text, 'no_key'::text, 'no_tenant'::text])))
  constraint rate_counters_pkey PRIMARY KEY (workspace_id, project_id, env, kind, subject_id)
  CREATE INDEX rate_counters_by_expiry ON public.rate_counters USING btree (expires_at)
  policy rate_counters_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)

table refusal_days row level security
  workspace_id uuid not null
  env text not null
  day date not null
  project_id uuid not null
  reason text not null
  requests numeric not null
  constraint refusal_days_env CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
  constraint refusal_days_reason CHECK ((reason ~ '^[a-z][a-z_]{0,31}$'::text))
  constraint refusal_days_requests_bounds CHECK ((requests > (0)::numeric))
  constraint refusal_days_pkey PRIMARY KEY (workspace_id, env, day, project_id, reason)
  CREATE INDEX refusal_days_by_day ON public.refusal_days USING btree (((day + 0)))
  policy refusal_days_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant select to keyrail_app

table replays row level security
  workspace_id uuid not null
  caller text not null
  key text not null
  fingerprint bytea not null
  status smallint
  body json
  created_at timestamp(3) with time zone not null default service_now()
  constraint replays_fingerprint_length CHECK ((octet_length(fingerprint) = 32))
  constraint replays_key_bounds CHECK (((char_length(key) >= 1) AND (char_length(key) <= 255)))
  constraint replays_pkey PRIMARY KEY (workspace_id, caller, key)
  CREATE INDEX replays_by_age ON public.replays USING btree (workspace_id, created_at)
  policy replays_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant delete, insert, select, update to keyrail_app

table secret_keys row level security
  workspace_id uuid not null
  id uuid not null
  env text not null
  role text not null
  created_by_type text not null
  created_by_id text
  name text
  meta json not null default '{}'::json
  display_prefix text not null
  expires_at timestamp(3) with time zone
  revoked_at timestamp(3) with time zone
  revoked_reason text
  rotated_from uuid
  rotated_to uuid
  last_used_at timestamp(3) with time zone
  created_at timestamp(3) with time zone not null
  original_expires_at timestamp(3) with time zone
  created_in_session uuid
  permissions text[]
  project_ids uuid[]
  allowed_cidrs text[]
  constraint secret_keys_allowed_cidrs_bounds CHECK (((allowed_cidrs IS NULL) OR (((cardinality(allowed_cidrs) >= 1) AND (cardinality(allowed_cidrs) <= 32)) AND lengths_between(allowed_cidrs, 4, 43))))
  constraint secret_keys_created_by CHECK ((created_by_type = ANY (ARRAY['user'::text, 'secret_key'::text, 'bootstrap'::text, 'operator'::text])))
  constraint secret_keys_env CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
  constraint secret_keys_meta_bounds CHECK (((json_typeof(meta) = 'object'::text) AND (octet_length((meta)::text) <= 65536)))
  constraint secret_keys_name_bounds CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200)))
  constraint secret_keys_permissions_bounds CHECK (((permissions IS NULL) OR (((cardinality(permissions) >= 1) AND (cardinality(permissions) <= 64)) AND lengths_between(permissions, 3, 40))))
  constraint secret_keys_project_ids_bounds CHECK (((cardinality(project_ids) >= 1) AND (cardinality(project_ids) <= 50)))
  constraint secret_keys_reason_bounds CHECK (((char_length(revoked_reason) >= 1) AND (char_length(revoked_reason) <= 500)))
  constraint secret_keys_role CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text])))
  constraint secret_keys_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint secret_keys_pkey PRIMARY KEY (workspace_id, id)
  CREATE INDEX secret_keys_by_maker ON public.secret_keys USING btree (workspace_id, created_by_type, created_by_id)
  CREATE INDEX secret_keys_by_rest ON public.secret_keys USING btree (GREATEST(LEAST(revoked_at, expires_at), created_at, revoked_at)) WHERE ((revoked_at IS NOT NULL) OR (expires_at IS NOT NULL))
  CREATE INDEX secret_keys_by_session ON public.secret_keys USING btree (workspace_id, created_in_session) WHERE (created_in_session IS NOT NULL)
  policy secret_keys_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table security_events row level security
  workspace_id uuid not null
  id uuid not null
  kind text not null
  user_id uuid
  actor_type text
  actor_id text
  ip text
  user_agent text
  count integer not null
  details jsonb not null
  device bytea
  created_at timestamp(3) with time zone not null
  last_at timestamp(3) with time zone not null
  constraint security_events_actor_id_bounds CHECK ((char_length(actor_id) <= 64))
  constraint security_events_actor_type CHECK ((actor_type ~ '^[a-z][a-z_]{0,19}$'::text))
  constraint security_events_count_bounds CHECK ((count >= 1))
  constraint security_events_details_bounds CHECK (((jsonb_typeof(details) = 'object'::text) AND (octet_length((details)::text) <= 1000)))
  constraint security_events_device_length CHECK ((octet_length(device) = 32))
  constraint security_events_ip_bounds CHECK ((char_length(ip) <= 64))
  constraint security_events_kind CHECK ((kind ~ '^[a-z][a-z_]{0,39}$'::text))
  constraint security_events_user_agent_bounds CHECK ((char_length(user_agent) <= 200))
  constraint security_events_pkey PRIMARY KEY (workspace_id, id)
  CREATE INDEX security_events_by_device ON public.security_events USING btree (user_id, device) WHERE (device IS NOT NULL)
  CREATE INDEX security_events_by_time ON public.security_events USING btree (created_at)
  CREATE INDEX security_events_by_user ON public.security_events USING btree (user_id, id) WHERE (user_id IS NOT NULL)
  policy security_events_scope permissive for * to keyrail_app using (((workspace_id = app_workspace_id()) OR (user_id = app_user_id()) OR ((workspace_id = '00000000-0000-0000-0000-000000000000'::uuid) AND (kind = ANY (ARRAY['sign_in_failed'::text, 'reset_requested'::text, 'password_changed'::text, 'password_reset'::text])) AND (EXISTS ( SELECT
   FROM workspace_members m
  WHERE ((m.workspace_id = app_workspace_id()) AND (m.user_id = security_events.user_id) AND (m.removed_at IS NULL) AND (m.joined_at <= security_events.created_at))))))) with check (((workspace_id = app_workspace_id()) OR ((user_id = app_user_id()) AND ((workspace_id = '00000000-0000-0000-0000-000000000000'::uuid) OR (EXISTS ( SELECT
   FROM workspace_members m
  WHERE ((m.workspace_id = security_events.workspace_id) AND (m.user_id = app_user_id()) AND (m.removed_at IS NULL))))))))
  grant insert, select to keyrail_app

table service_secrets
  name text not null
  secret bytea
  created_at timestamp(3) with time zone not null default service_now()
  sealed bytea
  plain_until timestamp(3) with time zone
  constraint service_secrets_kept CHECK (((secret IS NOT NULL) OR (sealed IS NOT NULL)))
  constraint service_secrets_pkey PRIMARY KEY (name)

table sessions row level security
  id uuid not null
  user_id uuid not null
  acts_in uuid
  user_agent text
  ip text
  created_at timestamp(3) with time zone not null
  last_seen_at timestamp(3) with time zone not null
  expires_at timestamp(3) with time zone not null
  ended_at timestamp(3) with time zone
  leaked_url text
  constraint sessions_ip_bounds CHECK ((char_length(ip) <= 64))
  constraint sessions_leaked_url_bounds CHECK (((char_length(leaked_url) >= 1) AND (char_length(leaked_url) <= 2000)))
  constraint sessions_user_agent_bounds CHECK ((char_length(user_agent) <= 500))
  constraint sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
  constraint sessions_pkey PRIMARY KEY (id)
  CREATE INDEX sessions_by_end ON public.sessions USING btree (LEAST(ended_at, expires_at))
  CREATE INDEX sessions_by_user ON public.sessions USING btree (user_id, id)
  CREATE INDEX sessions_live ON public.sessions USING btree (user_id, id) WHERE (ended_at IS NULL)
  policy sessions_scope permissive for * to keyrail_app using ((user_id = app_user_id())) with check (the same)
  grant insert, select, update to keyrail_app

table shadow_days row level security
  workspace_id uuid not null
  env text not null
  day date not null
  project_id uuid not null
  reason text not null
  requests numeric not null
  constraint shadow_days_env CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
  constraint shadow_days_reason CHECK ((reason ~ '^[a-z][a-z_]{0,31}$'::text))
  constraint shadow_days_requests_bounds CHECK ((requests > (0)::numeric))
  constraint shadow_days_pkey PRIMARY KEY (workspace_id, env, day, project_id, reason)
  CREATE INDEX shadow_days_by_day ON public.shadow_days USING btree (((day + 0)))
  policy shadow_days_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant select to keyrail_app

table signing_keys
  kid text not null
  private_key bytea
  signs_from timestamp(3) with time zone not null
  created_at timestamp(3) with time zone not null default service_now()
  sealed bytea
  plain_until timestamp(3) with time zone
  constraint signing_keys_kept CHECK (((private_key IS NOT NULL) OR (sealed IS NOT NULL)))
  constraint signing_keys_kid_form CHECK ((kid ~ '^[A-Za-z0-9_-]{43}$'::text))
  constraint signing_keys_pkey PRIMARY KEY (kid)

table store_levels
  database_id oid not null
  system_id text not null
  timeline text not null
  raised_at timestamp(3) with time zone
  raised_by bigint not null
  lowest bigint not null
  constraint store_levels_pkey PRIMARY KEY (database_id)

table store_timelines
  database_id oid not null
  system_id text not null
  timeline text not null
  raised_at timestamp(3) with time zone
  constraint store_timelines_pkey PRIMARY KEY (database_id)

table tenants row level security
  workspace_id uuid not null
  id uuid not null
  external_id text not null
  name text
  meta json not null default '{}'::json
  embed_epoch bigint not null default 1
  created_at timestamp(3) with time zone not null
  updated_at timestamp(3) with time zone not null
  deleted_at timestamp(3) with time zone
  name_folded text default lower(("left"(name, 64) COLLATE "C"))
  external_id_folded text default lower(("left"(external_id, 64) COLLATE "C"))
  met_at timestamp(3) with time zone
  suspended_at timestamp(3) with time zone
  suspended_reason text
  allowed_cidrs text[] not null default '{}'::text[]
  delete_protection boolean not null default false
  constraint tenants_allowed_cidrs_bounds CHECK (((cardinality(allowed_cidrs) <= 32) AND lengths_between(allowed_cidrs, 4, 43)))
  constraint tenants_embed_epoch CHECK ((embed_epoch >= 1))
  constraint tenants_external_id_bounds CHECK (((char_length(external_id) >= 1) AND (char_length(external_id) <= 200)))
  constraint tenants_meta_bounds CHECK (((json_typeof(meta) = 'object'::text) AND (octet_length((meta)::text) <= 65536)))
  constraint tenants_name_bounds CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200)))
  constraint tenants_suspended CHECK ((((suspended_at IS NOT NULL) OR (suspended_reason IS NULL)) AND ((char_length(suspended_reason) >= 1) AND (char_length(suspended_reason) <= 500))))
  constraint tenants_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint tenants_pkey PRIMARY KEY (workspace_id, id)
  CREATE INDEX tenants_by_external_id_folded ON public.tenants USING btree (workspace_id, external_id_folded, id) WHERE (deleted_at IS NULL)
  CREATE INDEX tenants_by_name_folded ON public.tenants USING btree (workspace_id, name_folded, id) WHERE ((deleted_at IS NULL) AND (name_folded IS NOT NULL))
  CREATE INDEX tenants_met ON public.tenants USING btree (workspace_id, met_at) WHERE (met_at IS NOT NULL)
  CREATE INDEX tenants_suspended_now ON public.tenants USING btree (workspace_id, id) WHERE ((suspended_at IS NOT NULL) AND (deleted_at IS NULL))
  CREATE INDEX tenants_told_to_nodes ON public.tenants USING btree (workspace_id, id) WHERE (((suspended_at IS NOT NULL) OR (allowed_cidrs <> '{}'::text[])) AND (deleted_at IS NULL))
  CREATE UNIQUE INDEX tenants_external_id_unique ON public.tenants USING btree (workspace_id, external_id) WHERE (deleted_at IS NULL)
  policy tenants_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table usage_days row level security
  workspace_id uuid not null
  env text not null
  tenant_id uuid not null
  project_id uuid not null
  day date not null
  requests numeric not null
  estimated boolean not null default false
  constraint usage_days_env CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
  constraint usage_days_requests_bounds CHECK ((requests > (0)::numeric))
  constraint usage_days_pkey PRIMARY KEY (workspace_id, env, tenant_id, project_id, day)
  CREATE INDEX usage_days_by_day ON public.usage_days USING btree (((day + 0)))
  policy usage_days_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant select to keyrail_app

table usage_hours row level security
  workspace_id uuid not null
  key_id uuid not null
  hour timestamp(0) with time zone not null
  requests numeric not null
  estimated boolean not null default false
  constraint usage_hours_requests_bounds CHECK ((requests > (0)::numeric))
  constraint usage_hours_pkey PRIMARY KEY (workspace_id, key_id, hour)
  CREATE INDEX usage_hours_by_hour ON public.usage_hours USING btree (hour)
  policy usage_hours_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant select to keyrail_app

table usage_months row level security
  workspace_id uuid not null
  month date not null
  tenant_id uuid not null
  project_id uuid not null
  env text not null
  requests numeric not null
  estimated boolean not null default false
  constraint usage_months_env CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
  constraint usage_months_month CHECK ((EXTRACT(day FROM month) = (1)::numeric))
  constraint usage_months_requests_bounds CHECK ((requests > (0)::numeric))
  constraint usage_months_pkey PRIMARY KEY (workspace_id, month, tenant_id, project_id, env)
  CREATE INDEX usage_months_by_month ON public.usage_months USING btree (((month + 0)))
  policy usage_months_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant select to keyrail_app

table usage_reports row level security
  workspace_id uuid not null
  env text not null
  report_id uuid not null
  accepted integer not null
  ignored integer not null
  expires_at timestamp(3) with time zone not null
  constraint usage_reports_accepted_bounds CHECK (((accepted >= 0) AND (accepted <= 1000)))
  constraint usage_reports_env CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
  constraint usage_reports_ignored_bounds CHECK (((ignored >= 0) AND (ignored <= 1000)))
  constraint usage_reports_pkey PRIMARY KEY (workspace_id, env, report_id)
  CREATE INDEX usage_reports_by_expiry ON public.usage_reports USING btree (expires_at)
  policy usage_reports_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)

table user_passwords row level security
  user_id uuid not null
  hash text not null
  devices uuid[] not null default '{}'::uuid[]
  constraint user_passwords_hash_form CHECK ((hash ~~ '$argon2id$%'::text))
  constraint user_passwords_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
  constraint user_passwords_pkey PRIMARY KEY (user_id)
  policy user_passwords_scope permissive for * to keyrail_app using ((user_id = app_user_id())) with check (the same)
  grant insert, select, update to keyrail_app

table users row level security
  id uuid not null
  email text not null
  address_key text not null
  name text
  email_verified_at timestamp(3) with time zone
  created_at timestamp(3) with time zone not null
  updated_at timestamp(3) with time zone not null
  proven_at timestamp(3) with time zone
  disowned_count integer not null default 0
  name_is_own boolean not null default false
  constraint users_email_bounds CHECK (((char_length(email) >= 3) AND (char_length(email) <= 320)))
  constraint users_name_bounds CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200)))
  constraint users_pkey PRIMARY KEY (id)
  constraint users_address_key_unique UNIQUE (address_key)
  policy users_scope permissive for * to keyrail_app using (((id = app_user_id()) OR (EXISTS ( SELECT
   FROM workspace_members m
  WHERE ((m.workspace_id = app_workspace_id()) AND (m.user_id = users.id)))))) with check ((id = app_user_id()))
  grant insert, select, update to keyrail_app

table workspace_invites row level security
  workspace_id uuid not null
  id uuid not null
  email text not null
  address_key text not null
  role text not null
  digest bytea not null
  mailed_digest bytea
  invited_by uuid
  created_at timestamp(3) with time zone not null
  expires_at timestamp(3) with time zone not null
  accepted_at timestamp(3) with time zone
  revoked_at timestamp(3) with time zone
  created_by_type text
  created_by_id text
  created_in_session uuid
  constraint workspace_invites_created_by CHECK ((created_by_type = ANY (ARRAY['user'::text, 'secret_key'::text])))
  constraint workspace_invites_digest_length CHECK ((octet_length(digest) = 32))
  constraint workspace_invites_email_bounds CHECK (((char_length(email) >= 3) AND (char_length(email) <= 320)))
  constraint workspace_invites_mailed_digest_length CHECK ((octet_length(mailed_digest) = 32))
  constraint workspace_invites_role CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text])))
  constraint workspace_invites_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint workspace_invites_pkey PRIMARY KEY (workspace_id, id)
  CREATE INDEX workspace_invites_by_address ON public.workspace_invites USING btree (workspace_id, address_key)
  CREATE INDEX workspace_invites_by_maker ON public.workspace_invites USING btree (workspace_id, created_by_type, created_by_id) WHERE ((accepted_at IS NULL) AND (revoked_at IS NULL))
  CREATE INDEX workspace_invites_by_session ON public.workspace_invites USING btree (workspace_id, created_in_session) WHERE ((created_in_session IS NOT NULL) AND (accepted_at IS NULL) AND (revoked_at IS NULL))
  CREATE INDEX workspace_invites_open_by_address ON public.workspace_invites USING btree (address_key) WHERE ((accepted_at IS NULL) AND (revoked_at IS NULL))
  policy workspace_invites_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert, select, update to keyrail_app

table workspace_loads row level security
  workspace_id uuid not null
  hour timestamp(3) with time zone not null
  requests bigint not null
  connection_ms bigint not null
  constraint workspace_loads_connection_ms CHECK ((connection_ms >= 0))
  constraint workspace_loads_hour CHECK (((EXTRACT(epoch FROM hour) % (3600)::numeric) = (0)::numeric))
  constraint workspace_loads_requests CHECK ((requests >= 0))
  constraint workspace_loads_pkey PRIMARY KEY (workspace_id, hour)
  CREATE INDEX workspace_loads_by_hour ON public.workspace_loads USING btree (hour)
  policy workspace_loads_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)

table workspace_members row level security
  workspace_id uuid not null
  user_id uuid not null
  role text not null
  joined_at timestamp(3) with time zone not null
  removed_at timestamp(3) with time zone
  proven_count integer not null default 0
  constraint workspace_members_role CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text])))
  constraint workspace_members_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint workspace_members_pkey PRIMARY KEY (workspace_id, user_id)
  CREATE INDEX workspace_members_by_user ON public.workspace_members USING btree (user_id)
  policy workspace_members_change permissive for w to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  policy workspace_members_join permissive for a to keyrail_app using () with check (((workspace_id = app_workspace_id()) AND (user_id = app_user_id())))
  policy workspace_members_scope permissive for r to keyrail_app using (((workspace_id = app_workspace_id()) OR (user_id = app_user_id()))) with check (the same)
  grant insert, select to keyrail_app

table workspace_slugs row level security
  slug text not null
  workspace_id uuid not null
  constraint workspace_slugs_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
  constraint workspace_slugs_pkey PRIMARY KEY (slug)
  CREATE INDEX workspace_slugs_workspace ON public.workspace_slugs USING btree (workspace_id)
  policy workspace_slugs_scope permissive for * to keyrail_app using ((workspace_id = app_workspace_id())) with check (the same)
  grant insert to keyrail_app

table workspaces row level security
  id uuid not null
  name text not null
  slug text not null
  billing_email text
  embed_origins text[] not null default '{}'::text[]
  created_at timestamp(3) with time zone not null
  updated_at timestamp(3) with time zone not null
  embed_accent text
  embed_radius smallint
  embed_logo_text text
  billing_verified_hash bytea
  billing_token_digest bytea
  billing_token_hash bytea
  billing_token_expires_at timestamp(3) with time zone
  constraint workspaces_billing_email_bounds CHECK (((char_length(billing_email) >= 3) AND (char_length(billing_email) <= 320)))
  constraint workspaces_embed_accent_form CHECK ((embed_accent ~ '^#[0-9A-Fa-f]{6}$'::text))
  constraint workspaces_embed_logo_text_bounds CHECK (((char_length(embed_logo_text) >= 1) AND (char_length(embed_logo_text) <= 40)))
  constraint workspaces_embed_origins_bounds CHECK (((cardinality(embed_origins) <= 20) AND lengths_between(embed_origins, 8, 255)))
  constraint workspaces_embed_radius_bounds CHECK (((embed_radius >= 0) AND (embed_radius <= 24)))
  constraint workspaces_name_bounds CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200)))
  constraint workspaces_slug_bounds CHECK ((slug ~ '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$'::text))
  constraint workspaces_pkey PRIMARY KEY (id)
  policy workspaces_scope permissive for * to keyrail_app using (((id = app_workspace_id()) OR (EXISTS ( SELECT
   FROM workspace_members m
  WHERE ((m.workspace_id = workspaces.id) AND (m.user_id = app_user_id()) AND (m.removed_at IS NULL)))))) with check ((id = app_workspace_id()))
  grant insert, select, update to keyrail_app

CREATE OR REPLACE FUNCTION public.adopt_store(by bigint, more boolean)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  timeline_now text;
  known store_timelines;
  steps bigint;
  raised bigint;
  by_clock constant bigint := least(extract(epoch from service_now()) * 16000, 1e14);
begin
  perform pg_advisory_xact_lock(hashtextextended('keyrail.timeline', 0));
  timeline_now := store_wal_timeline();
  if timeline_now = 'standby' or (not more and store_state() = 'same') then return 0; end if;
  select * into known from store_timelines t
    where t.database_id = store_database_id() and t.system_id = store_system_id();
  steps := case when known.timeline ~ '^[0-9A-F]{8}$' and timeline_now ~ '^[0-9A-F]{8}$'
    then ('x' || timeline_now)::bit(32)::bigint - ('x' || known.timeline)::bit(32)::bigint else 0 end;
  steps := least(1000, greatest(steps + case when more then 1 else 0 end, 1));
  -- In the order in which mutations lock them.
  perform from policy_heads order by workspace_id, project_id for update;
  update policy_heads set version = greatest(version + by * steps, by_clock),
    floor = greatest(version + by * steps, by_clock);
  get diagnostics raised = row_count;
  delete from store_timelines;
  insert into store_timelines (database_id, system_id, timeline, raised_at)
    values (store_database_id(), store_system_id(), timeline_now, case when raised > 0 then service_now() end);
  return by * steps;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.api_keys_row_checked(env text, lookup_hash bytea, meta json, name text, rate_limits jsonb, revoked_reason text, scopes text[], disabled_at timestamp with time zone, disabled_reason text, disabled_by text, allowed_cidrs text[], source_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  broken constant text := case
    when env not in ('live', 'test') then 'env'
    when octet_length(lookup_hash) <> 32 then 'lookup_hash_length'
    when json_typeof(meta) <> 'object' or octet_length(meta::text) > 65536 then 'meta_bounds'
    when char_length(name) not between 1 and 200 then 'name_bounds'
    when rate_limits is not null and not public.rate_limits_valid(rate_limits) then 'rate_limits_bounds'
    when char_length(revoked_reason) not between 1 and 500 then 'reason_bounds'
    when num_nonnulls(disabled_at, disabled_by) = 1 or disabled_at is null and disabled_reason is not null
      or disabled_by not in ('vendor', 'tenant') or char_length(disabled_reason) not between 1 and 500 then 'disabled'
    when allowed_cidrs is not null
      and (cardinality(allowed_cidrs) > 32 or not public.lengths_between(allowed_cidrs, 4, 43)) then 'allowed_cidrs_bounds'
    when char_length(source_id) not between 1 and 200 then 'source_id_bounds'
    -- Scopes that are short together are short each.
    when cardinality(scopes) > 64 or '' = any(scopes)
      or char_length(array_to_string(scopes, '')) > 200 and not public.lengths_between(scopes, 1, 200) then 'scopes_bounds'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of api_keys breaks api_keys_' || broken,
    table = 'api_keys', constraint = 'api_keys_' || broken;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.app_user_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$ select nullif(current_setting('app.user_id', true), '')::uuid $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.app_workspace_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$ select nullif(current_setting('app.workspace_id', true), '')::uuid $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.audit_append(of_workspace uuid, by_type text, by_id text, at timestamp with time zone, actions text[], target_types text[], target_ids uuid[], envs text[], payloads text[], addresses jsonb)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
begin
  return audit_append(of_workspace, by_type, by_id, at, actions, target_types, target_ids, envs, payloads, addresses, null);
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.audit_append(of_workspace uuid, by_type text, by_id text, at timestamp with time zone, actions text[], target_types text[], target_ids uuid[], envs text[], payloads text[], addresses jsonb, caller_ip text)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  head audit_heads;
  next_hash bytea;
begin
  select h.workspace_id, h.seq, h.hash into strict head from audit_heads h
    where h.workspace_id = of_workspace for update;
  for i in 1 .. cardinality(actions) loop
    head.seq := head.seq + 1;
    next_hash := sha256('keyrail-audit-v1'::bytea || '\x0a'::bytea || head.hash || convert_to(
      audit_canonical(of_workspace, head.seq, actions[i], by_type, by_id, target_types[i], target_ids[i],
        envs[i], at, payloads[i]), 'UTF8'));
    insert into audit_logs (workspace_id, seq, action, actor_type, actor_id, target_type, target_id, env,
        payload, created_at, prev_hash, hash)
      values (of_workspace, head.seq, actions[i], by_type, by_id, target_types[i], target_ids[i], envs[i],
        payloads[i], at, head.hash, next_hash);
    head.hash := next_hash;
  end loop;
  -- Addresses name their row by its place in the arrays, since its seq was not known before.
  if addresses is not null then
    insert into audit_addresses (workspace_id, seq, path, address, salt)
      select of_workspace, head.seq - cardinality(actions) + (a->>'row')::int, a->>'path', a->>'address',
        decode(a->>'salt', 'base64')
      from jsonb_array_elements(addresses) a;
  end if;
  if caller_ip is not null then
    insert into audit_callers (workspace_id, first_seq, last_seq, ip)
      values (of_workspace, head.seq - cardinality(actions) + 1, head.seq, caller_ip);
  end if;
  update audit_heads h set seq = head.seq, hash = head.hash where h.workspace_id = of_workspace;
  return head.seq;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.audit_callers_checked(ip text, first_seq bigint, last_seq bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  broken constant text := case
    when char_length(ip) not between 1 and 64 then 'ip_bounds'
    when first_seq < 1 or last_seq < first_seq then 'order'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of audit_callers breaks audit_callers_' || broken,
    table = 'audit_callers', constraint = 'audit_callers_' || broken;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.audit_canonical(workspace_id uuid, seq bigint, action text, actor_type text, actor_id text, target_type text, target_id uuid, env text, created_at timestamp with time zone, payload text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select '{"action":"' || action
    || '","actor_id":' || coalesce('"' || actor_id || '"', 'null')
    || ',"actor_type":"' || actor_type
    || '","created_at":"' || to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    || '","env":' || coalesce('"' || env || '"', 'null')
    || ',"payload":' || payload
    || ',"seq":' || seq
    || ',"target_id":"' || target_id
    || '","target_type":"' || target_type
    || '","workspace_id":"' || workspace_id || '"}'
$function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.audit_logs_checked(seq bigint, action text, actor_type text, actor_id text, target_type text, env text, payload text, prev_hash bytea, hash bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  broken constant text := case
    when seq < 1 then 'seq'
    when action = '' or translate(action, 'e_a.tirsocndpuklymgvhwbfxjzq', '') <> '' then 'action'
    when actor_type = '' or translate(actor_type, 'e_tairsocndpuklymgvhwbfxjzq', '') <> '' then 'actor_type'
    when char_length(actor_id) not between 1 and 128
      or translate(actor_id, '0123456789abcdef-ghijklmnopqrstuvwxyz_.:ABCDEFGHIJKLMNOPQRSTUVWXYZ', '') <> '' then 'actor_id'
    when target_type = '' or translate(target_type, 'e_tairsocndpuklymgvhwbfxjzq', '') <> '' then 'target_type'
    when env not in ('live', 'test') then 'env'
    when json_typeof(payload::json) <> 'object' then 'payload'
    when octet_length(prev_hash) <> 32 then 'prev_hash_length'
    when octet_length(hash) <> 32 then 'hash_length'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of audit_logs breaks audit_logs_' || broken,
    table = 'audit_logs', constraint = 'audit_logs_' || broken;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.billing_recipient(address text, verified_hash bytea)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ select case when verified_hash = sha256(convert_to(address, 'UTF8')) then address end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.bulk_operations_row_checked(action text, reason text, actor_type text, actor_id text, envs text[], project_ids uuid[], filter jsonb, places text[], matched integer, done integer, batches integer, failures jsonb, finished_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  broken constant text := case
    when action not in ('revoke', 'disable', 'enable') then 'action'
    when char_length(reason) not between 1 and 500 then 'reason_bounds'
    when actor_type !~ '^[a-z_]{1,32}$' or char_length(actor_id) not between 1 and 128 then 'actor'
    when cardinality(envs) not between 1 and 2 or not envs <@ '{live,test}' then 'envs'
    when cardinality(project_ids) > 200 then 'project_ids_bounds'
    when jsonb_typeof(filter) <> 'object' or octet_length(filter::text) > 4096
      or filter is null and finished_at is null then 'filter_bounds'
    when cardinality(places) > 200 or places is not null and not public.lengths_between(places, 41, 41) then 'places_bounds'
    when least(matched, done, batches) < 0 then 'counts'
    when jsonb_typeof(failures) <> 'array' or jsonb_array_length(failures) > 200
      or octet_length(failures::text) > 32768 then 'failures_bounds'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of bulk_operations breaks bulk_operations_' || broken,
    table = 'bulk_operations', constraint = 'bulk_operations_' || broken;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.catch_up_head()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  level bigint := public.store_raised_by();
  raised bigint := greatest(old.version + level - old.raised_by, public.store_lowest());
begin
  new.floor := raised + case when new.floor = new.version then new.version - old.version else 0 end;
  new.version := raised + new.version - old.version;
  new.raised_by := level;
  return new;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.charge_letter(sender bytea, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  moment constant timestamptz := public.service_now();
  room_in int;
begin
  insert into public.letter_counts as held (sender_hash, sent_at, expires_at)
  values (sender, array[moment], moment + interval '1 day')
  on conflict (sender_hash) do update
    set sent_at = array(
        select one from unnest(held.sent_at) one where one > moment - interval '1 day' order by one) || moment,
      expires_at = excluded.expires_at
    where (select count(*) from unnest(held.sent_at) one where one > moment - interval '1 day') < most;
  if found then
    return 0;
  end if;
  select ceil(extract(epoch from one + interval '1 day' - moment)) into room_in
  from public.letter_counts c, unnest(c.sent_at) one
  where c.sender_hash = sender and one > moment - interval '1 day'
  order by one desc offset most - 1 limit 1;
  return greatest(room_in, 1);
end $function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.credentials_checked(kind text, digest bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  broken constant text := case
    when kind not in ('api_key', 'secret_key', 'session') then 'kind'
    when octet_length(digest) <> 32 then 'digest_length'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of credentials breaks credentials_' || broken,
    table = 'credentials', constraint = 'credentials_' || broken;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.delete_ended_keys(of_workspace uuid, ids uuid[])
 RETURNS TABLE(deleted_id uuid, deleted_env text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if of_workspace is distinct from public.app_workspace_id() then
    raise exception 'keys of another workspace' using errcode = 'insufficient_privilege';
  end if;
  -- In the order in which mutations lock them.
  perform from public.policy_heads h where h.workspace_id = of_workspace and h.project_id in (
      select k.project_id from public.api_keys k where k.workspace_id = of_workspace and k.id = any(ids))
    order by h.project_id for update;
  return query
    with old as materialized (
      select k.id, k.env, k.lookup_hash, k.imported_at from public.api_keys k
      where k.workspace_id = of_workspace and k.id = any(ids)
        and (k.revoked_at is not null or k.expires_at <= (select public.service_now()))
        and not exists (select from public.leak_reports l
          where l.workspace_id = k.workspace_id and l.credential_id = k.id)
      for update of k skip locked
    ), changes as (
      delete from public.policy_changes c using old where c.workspace_id = of_workspace and c.key_id = old.id
      returning c.project_id, c.version
    ), floors as (
      update public.policy_heads h set floor = greatest(h.floor, last.version)
      from (select c.project_id, max(c.version) as version from changes c group by c.project_id) last
      where h.workspace_id = of_workspace and h.project_id = last.project_id
    ), credential as (
      delete from public.credentials c using old where c.digest = old.lookup_hash and old.imported_at is null
    )
    delete from public.api_keys k using old where k.workspace_id = of_workspace and k.id = old.id
    returning k.id, k.env;
end $function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.delete_ended_secret_keys(of_workspace uuid, ids uuid[])
 RETURNS TABLE(deleted_id uuid, deleted_env text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  one uuid;
  old public.secret_keys;
  made uuid[];
begin
  if of_workspace is distinct from public.app_workspace_id() then
    raise exception 'keys of another workspace' using errcode = 'insufficient_privilege';
  end if;
  foreach one in array ids loop
    continue when not pg_try_advisory_xact_lock(public.right_lock(of_workspace, one));
    select k.* into old from public.secret_keys k
      where k.workspace_id = of_workspace and k.id = one
        and (k.revoked_at is not null or k.expires_at <= public.service_now())
        and not exists (select from public.endings e where e.workspace_id = k.workspace_id
          and e.maker_type = 'secret_key' and e.maker_id = k.id and e.done_at is null)
        and not exists (select from public.leak_reports l
          where l.workspace_id = k.workspace_id and l.credential_id = k.id)
        and not exists (select from public.workspace_invites i where i.workspace_id = k.workspace_id
          and i.created_by_type = 'secret_key' and i.created_by_id = k.id::text and i.accepted_at is null
          and i.revoked_at is null and i.expires_at > public.service_now())
      for update skip locked;
    continue when not found;
    made := array(select k.id from public.secret_keys k where k.workspace_id = of_workspace
      and k.created_by_type = 'secret_key' and k.created_by_id = one::text limit 2);
    continue when cardinality(made) > 1;
    if cardinality(made) = 1 then
      perform from public.secret_keys k where k.workspace_id = of_workspace and k.id = made[1]
        for no key update skip locked;
      continue when not found;
      update public.secret_keys k set created_by_type = old.created_by_type, created_by_id = old.created_by_id,
          created_in_session = old.created_in_session
        where k.workspace_id = of_workspace and k.id = made[1];
    end if;
    delete from public.endings e
      where e.workspace_id = of_workspace and e.maker_type = 'secret_key' and e.maker_id = one;
    delete from public.credentials c where c.workspace_id = of_workspace and c.kind = 'secret_key' and c.id = one;
    delete from public.secret_keys k where k.workspace_id = of_workspace and k.id = one;
    deleted_id := one;
    deleted_env := old.env;
    return next;
  end loop;
end $function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.digests_claimed(digests bytea[], ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  insert into public.credentials (digest, kind, workspace_id, id)
    select d.digest, 'api_key', public.app_workspace_id(), d.id from unnest(digests, ids) d(digest, id) order by d.digest
    on conflict (digest) do nothing returning id
$function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.digests_taken(digests bytea[])
 RETURNS SETOF bytea
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select c.digest from public.credentials c where c.digest = any(digests)
$function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.end_devices()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.devices := '{}';
  return new;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.end_rights(scope uuid, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  one uuid;
begin
  for one in select distinct i from unnest(ids) i order by i loop
    perform pg_advisory_xact_lock(right_lock(scope, one));
  end loop;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.hold_embed_right(of_workspace uuid, of_tenant uuid, epoch bigint, minter uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform hold_key_right(of_workspace, minter);
  perform pg_advisory_xact_lock_shared(right_lock(of_workspace, of_tenant));
  perform from tenants t where t.workspace_id = of_workspace and t.id = of_tenant
    and t.deleted_at is null and t.embed_epoch = epoch and t.suspended_at is null;
  if not found then
    raise exception 'the right is gone' using errcode = 'KR401';
  end if;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.hold_key_right(of_workspace uuid, key_id uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(right_lock(of_workspace, of_workspace));
  perform pg_advisory_xact_lock_shared(right_lock(of_workspace, key_id));
  perform from secret_keys k where k.workspace_id = of_workspace and k.id = key_id
    and k.revoked_at is null and (k.expires_at is null or k.expires_at > service_now());
  if not found then
    raise exception 'the right is gone' using errcode = 'KR401';
  end if;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.hold_session_right(session_id uuid, of_user uuid, of_workspace uuid, as_role text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  roles constant text[] := array['member', 'admin', 'owner'];
begin
  if of_workspace is not null then
    perform pg_advisory_xact_lock_shared(public.right_lock(of_workspace, of_workspace));
  end if;
  perform pg_advisory_xact_lock_shared(public.right_lock(of_user, of_user));
  perform pg_advisory_xact_lock_shared(public.right_lock(of_user, session_id));
  perform from public.sessions s where s.id = session_id and s.user_id = of_user
    and s.ended_at is null and s.expires_at > public.service_now();
  if not found then
    raise exception 'the right is gone' using errcode = 'KR401';
  end if;
  if of_workspace is null then
    return;
  end if;
  perform pg_advisory_xact_lock_shared(public.right_lock(of_workspace, of_user));
  perform from public.workspace_members m where m.workspace_id = of_workspace and m.user_id = of_user
    and m.removed_at is null and array_position(roles, m.role) >= array_position(roles, as_role);
  if not found then
    raise exception 'the right is gone' using errcode = 'KR401';
  end if;
end $function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.keep_key_words()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op <> 'INSERT' then
    delete from public.name_words w where w.workspace_id = old.workspace_id
      and w.list = 'api_key ' || old.env || case when old.revoked_at is null then '' else ' revoked' end
      and w.word in (select public.later_words(old.name)) and w.id = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into public.name_words (workspace_id, list, word, id)
      select new.workspace_id, 'api_key ' || new.env || case when new.revoked_at is null then '' else ' revoked' end,
        word, new.id
      from public.later_words(new.name) word;
  end if;
  return null;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.keep_name_words()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op <> 'INSERT' and old.deleted_at is null then
    delete from public.name_words w where w.workspace_id = old.workspace_id and w.list = tg_argv[0]
      and w.word in (select public.later_words(old.name)) and w.id = old.id;
  end if;
  if tg_op <> 'DELETE' and new.deleted_at is null then
    insert into public.name_words (workspace_id, list, word, id)
      select new.workspace_id, tg_argv[0], word, new.id from public.later_words(new.name) word;
  end if;
  return null;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.later_words(name text)
 RETURNS SETOF text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select distinct left(part, 64) from (
    select part from unnest(string_to_array(
      translate(lower(name collate "C"), e'\t\u00a0\u2013\u2014\u00b7!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~', repeat(' ', 37)), ' '
    )) with ordinality as parts (part, place)
    where part <> '' and place > 1 order by place limit 8
  ) later
$function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.lengths_between(items text[], fewest integer, most integer)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  item text;
begin
  foreach item in array items loop
    if item is not null and char_length(item) not between fewest and most then
      return false;
    end if;
  end loop;
  return true;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.must_touch(expected bigint, touched bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if touched is distinct from expected then
    raise exception 'a write changed % rows in place of %', touched, expected using errcode = 'KR500';
  end if;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.next_bulk_operations(most integer)
 RETURNS TABLE(workspace_id uuid, id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select turn.workspace_id, turn.id from (
    select distinct on (o.workspace_id) o.workspace_id, o.id, o.leased_until,
      coalesce(max(o.tried_at) over own, min(o.created_at) over own) as last_turn
    from public.bulk_operations o where o.finished_at is null and not o.filter ? 'hygiene'
    window own as (partition by o.workspace_id)
    order by o.workspace_id, o.leased_until > public.service_now() nulls first, o.tried_at nulls first, o.created_at) turn
  where coalesce(turn.leased_until <= public.service_now(), true)
  order by turn.last_turn limit most
$function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.next_bulks(most integer)
 RETURNS TABLE(workspace_id uuid, id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select turn.workspace_id, turn.id from (
    select distinct on (o.workspace_id) o.workspace_id, o.id, o.leased_until,
      coalesce(max(o.tried_at) over own, min(o.created_at) over own) as last_turn
    from public.bulk_operations o where o.finished_at is null
    window own as (partition by o.workspace_id)
    order by o.workspace_id, o.leased_until > public.service_now() nulls first, o.tried_at nulls first, o.created_at) turn
  where coalesce(turn.leased_until <= public.service_now(), true)
  order by turn.last_turn limit most
$function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.next_endings(most integer)
 RETURNS TABLE(workspace_id uuid, maker_type text, maker_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select turn.workspace_id, turn.maker_type, turn.maker_id from (
    select distinct on (e.workspace_id) e.workspace_id, e.maker_type, e.maker_id,
      coalesce(max(e.tried_at) over own, min(e.began_at) over own) as last_turn
    from public.endings e where e.done_at is null
    window own as (partition by e.workspace_id)
    order by e.workspace_id, e.tried_at nulls first, e.began_at) turn
  order by turn.last_turn limit most
$function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.policy_changed(of_workspace uuid, of_project uuid, key_ids uuid[])
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  next_version bigint;
begin
  update policy_heads set version = version + 1
    where workspace_id = of_workspace and project_id = of_project and not project_deleted
    returning version into next_version;
  if not found then
    raise exception 'the project is gone' using errcode = 'KR404';
  end if;
  insert into policy_changes (workspace_id, project_id, version, key_id)
    select of_workspace, of_project, next_version, key_id from unnest(key_ids) key_id;
  return next_version;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.policy_nodes_seen(ws uuid[], projects uuid[], sights text[], nodes text[], versions bigint[], helds integer[], held_maxes integer[], most integer, most_test integer)
 RETURNS SETOF bigint
 LANGUAGE plpgsql
AS $function$
begin
  return query select place from policy_nodes_seen(ws, projects, sights, nodes, versions, most, most_test) place;
  update policy_nodes k set held_keys = said.held, held_keys_max = said.held_max
    from (select distinct on (w, p, s, n) w, p, s, n, held, held_max
      from unnest(ws, projects, sights, nodes, helds, held_maxes) with ordinality u(w, p, s, n, held, held_max, place)
      order by w, p, s, n, place desc) said
    where k.workspace_id = said.w and k.project_id = said.p and k.sees = said.s and k.node = said.n
      and (k.held_keys, k.held_keys_max) is distinct from (said.held, said.held_max);
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.policy_nodes_seen(ws uuid[], projects uuid[], sights text[], nodes text[], versions bigint[], most integer, most_test integer)
 RETURNS SETOF bigint
 LANGUAGE plpgsql
AS $function$
declare
  fresh record;
  room int;
  kept int;
  moment timestamptz(3) := service_now();
  raised bigint := store_raised_by();
  lowest bigint := store_lowest();
begin
  with said as (
    select distinct on (w, p, s, n) w, p, s, n, v
    from unnest(ws, projects, sights, nodes, versions) with ordinality u(w, p, s, n, v, place)
    order by w, p, s, n, place desc
  )
  update policy_nodes k
    set version = case when said.v = 0 then k.version else said.v end, seen_at = moment
    from said join policy_heads h on h.workspace_id = said.w and h.project_id = said.p and said.v <=
      case when h.raised_by < raised then greatest(h.version + raised - h.raised_by, lowest) else h.version end
    where k.workspace_id = said.w and k.project_id = said.p and k.sees = said.s and k.node = said.n;

  for fresh in
    with said as (
      select distinct on (w, p, s, n) w, p, s, n, v
      from unnest(ws, projects, sights, nodes, versions) with ordinality u(w, p, s, n, v, place)
      order by w, p, s, n, place desc
    )
    select said.w, said.p, said.s = 'test' as is_test,
      array_agg(said.s) as sights, array_agg(said.n) as nodes, array_agg(said.v) as versions
    from said join policy_heads h on h.workspace_id = said.w and h.project_id = said.p and said.v <=
      case when h.raised_by < raised then greatest(h.version + raised - h.raised_by, lowest) else h.version end
    where not exists (select from policy_nodes k where k.workspace_id = said.w and k.project_id = said.p
      and k.sees = said.s and k.node = said.n)
    group by said.w, said.p, said.s = 'test' order by said.w, said.p, said.s = 'test'
  loop
    perform pg_advisory_xact_lock(hashtextextended('keyrail.policy_nodes ' || fresh.p, 0));
    room := case when fresh.is_test then most_test else most end;
    select count(*) into kept from policy_nodes k
      where k.workspace_id = fresh.w and k.project_id = fresh.p and (k.sees = 'test') = fresh.is_test;
    if kept + cardinality(fresh.nodes) > room then
      delete from policy_nodes where (workspace_id, project_id, sees, node) in (
        select k.workspace_id, k.project_id, k.sees, k.node from policy_nodes k
        where k.workspace_id = fresh.w and k.project_id = fresh.p and (k.sees = 'test') = fresh.is_test
          and k.seen_at < moment - interval '90 seconds'
        order by k.seen_at limit kept + cardinality(fresh.nodes) - room for update skip locked);
      select count(*) into kept from policy_nodes k
        where k.workspace_id = fresh.w and k.project_id = fresh.p and (k.sees = 'test') = fresh.is_test;
    end if;
    insert into policy_nodes (workspace_id, project_id, sees, node, version, seen_at)
      select fresh.w, fresh.p, u.s, u.n, u.v, moment from unnest(fresh.sights, fresh.nodes, fresh.versions) u(s, n, v)
      order by u.s, u.n limit greatest(room - kept, 0)
      on conflict do nothing;
  end loop;

  return query
    select u.place from unnest(ws, projects, sights, nodes) with ordinality u(w, p, s, n, place)
    join policy_nodes k on k.workspace_id = u.w and k.project_id = u.p and k.sees = u.s and k.node = u.n;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.policy_tenant_changed(of_workspace uuid, of_tenant uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
AS $function$
begin
  perform from policy_heads where workspace_id = of_workspace and project_id in (
      select project_id from api_keys
      where workspace_id = of_workspace and tenant_id = of_tenant and not is_revoked)
    order by project_id for update;
  return query
    with raised as (
      update policy_heads h set version = h.version + 1
      where h.workspace_id = of_workspace and not h.project_deleted and h.project_id in (
        select k.project_id from api_keys k
        where k.workspace_id = of_workspace and k.tenant_id = of_tenant and not k.is_revoked)
      returning h.project_id, h.version
    )
    insert into policy_tenants as p (workspace_id, project_id, tenant_id, version)
      select of_workspace, r.project_id, of_tenant, r.version from raised r
      on conflict (workspace_id, project_id, tenant_id) do update set version = excluded.version
      returning p.project_id;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.queue_alarm(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  moment constant timestamptz := public.service_now();
  room_at timestamptz;
begin
  if public.queue_letter_at(letter_kind, throttle_kind, address_digest, letter_ids, -100) then
    return;
  end if;
  update public.mail_throttles set gathering_until = interval '1 hour'
      + (select min(one) from unnest(queued_at) one where one > moment - interval '1 hour')
  where address_hash = address_digest and kind = throttle_kind
    and (gathering_until is null or gathering_until <= moment)
  returning gathering_until into room_at;
  if found then
    perform graphile_worker.add_job(
      'keyrail_mail', json_build_object('kind', letter_kind || '_gathered', 'ids', letter_ids),
      run_at => now() + (room_at - moment) + interval '1 minute', max_attempts => 13, priority => -100);
  end if;
end $function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.queue_in_turn(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb, network bytea, is_to_verified boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  moment constant timestamptz := public.service_now();
  turn int;
begin
  insert into public.letter_counts as held (sender_hash, sent_at, expires_at)
  values (network, array[moment], moment + interval '1 hour')
  on conflict (sender_hash) do update
    set sent_at = array(
        select one from unnest(held.sent_at) one where one > moment - interval '1 hour'
        order by one desc limit 999) || moment,
      expires_at = excluded.expires_at
  returning cardinality(sent_at) into turn;
  perform public.queue_letter_at(
    letter_kind, throttle_kind, address_digest, letter_ids, turn + case when is_to_verified then 100 else 2000 end);
end $function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.queue_letter(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return public.queue_letter_at(letter_kind, throttle_kind, address_digest, letter_ids, 0);
end $function$
  -- execute: owner

CREATE OR REPLACE FUNCTION public.queue_letter_at(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb, job_priority integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  moment constant timestamptz := public.service_now();
begin
  if letter_kind !~ '^[a-z][a-z_]{0,39}$' or jsonb_typeof(letter_ids) <> 'object' or exists (
      select from jsonb_each_text(letter_ids) id
      where id.key !~ '^[a-z][a-z_]{0,39}$' or id.value !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') then
    raise exception 'a job of mail carries ids and nothing else' using errcode = 'check_violation';
  end if;
  insert into public.mail_throttles as held (address_hash, kind, queued_at, expires_at)
  values (address_digest, throttle_kind, array[moment], moment + interval '1 hour')
  on conflict (address_hash, kind) do update
    set queued_at = array(
        select one from unnest(held.queued_at) one where one > moment - interval '1 hour' order by one) || moment,
      expires_at = excluded.expires_at
    where (select count(*) from unnest(held.queued_at) one where one > moment - interval '1 hour') < 5;
  if not found then
    return false;
  end if;
  -- With the library's waits, 13 attempts are made in 22 hours.
  perform graphile_worker.add_job(
    'keyrail_mail', json_build_object('kind', letter_kind, 'ids', letter_ids), max_attempts => 13,
    priority => job_priority);
  return true;
end $function$
  -- execute: owner

CREATE OR REPLACE FUNCTION public.queue_mail(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform public.queue_letter(letter_kind, throttle_kind, address_digest, letter_ids);
end $function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.raise_store(by bigint, more boolean)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  timeline_now text;
  known store_levels;
  steps bigint;
  by_clock constant bigint := least(extract(epoch from service_now()) * 16000, 1e14);
begin
  perform pg_advisory_xact_lock(hashtextextended('keyrail.timeline', 0));
  timeline_now := store_wal_timeline();
  if timeline_now = 'standby' or (not more and store_level_state() = 'same') then return 0; end if;
  select * into known from store_levels t
    where t.database_id = store_database_id() and t.system_id = store_system_id();
  steps := case when known.timeline ~ '^[0-9A-F]{8}$' and timeline_now ~ '^[0-9A-F]{8}$'
    then ('x' || timeline_now)::bit(32)::bigint - ('x' || known.timeline)::bit(32)::bigint else 0 end;
  steps := least(1000, greatest(steps + case when more then 1 else 0 end, 1));
  -- Heads have the level of the database from which they were copied, so its row counts too. Lost, only they know it.
  select coalesce(max(raised_by), (select max(raised_by) from policy_heads), 0), coalesce(max(lowest), 0)
    into known.raised_by, known.lowest from store_levels;
  known.raised_at := null;
  -- A database that is used for the first time begins without a raise.
  if exists (select from policy_heads) then
    known.raised_at := service_now();
    known.raised_by := known.raised_by + by * steps;
    known.lowest := greatest(known.lowest + by * steps, by_clock);
  end if;
  delete from store_levels;
  delete from store_timelines;
  insert into store_levels (database_id, system_id, timeline, raised_at, raised_by, lowest)
    values (store_database_id(), store_system_id(), timeline_now, known.raised_at, known.raised_by, known.lowest);
  return by * steps;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.rate_limits_valid(rules jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  if jsonb_typeof(rules) is distinct from 'array' then
    return false;
  elsif jsonb_array_length(rules) > 8 then
    return false;
  end if;
  return (
    select coalesce(bool_and(
        case when jsonb_typeof(rule) is distinct from 'object' then false
          when jsonb_typeof(rule->'limit') is distinct from 'number'
            or jsonb_typeof(rule->'window_ms') is distinct from 'number' then false
          else coalesce(
            rule->>'id' ~ '^[a-z0-9][a-z0-9._-]{0,63}$'
            and (rule->>'limit')::numeric between 1 and 1000000000
            and (rule->>'limit')::numeric = trunc((rule->>'limit')::numeric)
            and (rule->>'window_ms')::numeric between 1000 and 2678400000
            and (rule->>'window_ms')::numeric = trunc((rule->>'window_ms')::numeric)
            and rule->>'algorithm' in ('sliding', 'fixed')
            and rule->>'scope' in ('key', 'tenant'), false)
        end), true)
      and count(distinct rule->>'id') = count(*)
    from jsonb_array_elements(rules) rule);
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.right_lock(scope uuid, id uuid)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$ select uuid_hash_extended(id, uuid_hash_extended(scope, 0)) $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.rights_left(of_user uuid, but uuid)
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select (select count(*) from public.sessions s where s.user_id = of_user and s.ended_at is null
      and s.expires_at > public.service_now() and s.id is distinct from but)
    + (select count(*) from public.mail_tokens t where t.user_id = of_user and t.kind = 'password_reset'
      and t.used_at is null and t.expires_at > public.service_now())
$function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.service_now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$ select date_trunc('milliseconds', clock_timestamp()) $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.service_rights()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE
AS $function$
  with role as (select oid from pg_roles where rolname = 'keyrail_serve'),
  ours as (
    select c.oid, c.relkind, c.relrowsecurity, format('%I.%I', n.nspname, c.relname) as name,
      case when n.nspname <> 'public' then 'select, insert, update, delete'
        when c.relname in ('audit_logs', 'audit_addresses', 'audit_callers', 'keyrail_migrations') then 'select'
        -- The daily verification notes its result there.
        when c.relname = 'audit_heads' then 'select, update'
        else 'select, insert, update, delete' end as needed
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'graphile_worker') and c.relkind in ('r', 'p', 'v', 'S')
      and c.relowner = (select relowner from pg_class where oid = 'public.workspaces'::regclass)
      and pg_has_role(c.relowner, 'usage')
  ),
  schemas as (
    select n.oid, n.nspname from pg_namespace n
    where n.nspname in ('public', 'graphile_worker') and exists (select from ours)
  )
  select format('grant usage on schema %I to keyrail_serve', s.nspname) from schemas s, role
    where not has_schema_privilege(role.oid, s.oid, 'usage')
  union all
  select format('grant %s on %s to keyrail_serve', o.needed, o.name) from ours o, role
    where o.relkind <> 'S' and exists (
      select from unnest(string_to_array(o.needed, ', ')) one where not has_table_privilege(role.oid, o.oid, one))
  union all
  select format('grant usage, select on sequence %s to keyrail_serve', o.name) from ours o, role
    where o.relkind = 'S' and not has_sequence_privilege(role.oid, o.oid, 'usage')
  union all
  select format('create policy keyrail_serve on %s for %s to keyrail_serve using (true)', o.name,
      case when o.needed = 'select' then 'select' else 'all' end)
    from ours o, role
    where o.relrowsecurity
      and not exists (select from pg_policy p where p.polrelid = o.oid and p.polname = 'keyrail_serve')
  union all
  select format('grant execute on function %s to keyrail_serve', p.oid::regprocedure)
    from pg_proc p join schemas s on s.oid = p.pronamespace, role
    where p.prokind = 'f' and pg_has_role(p.proowner, 'usage') and not has_function_privilege(role.oid, p.oid, 'execute')
$function$
  -- execute: owner

CREATE OR REPLACE FUNCTION public.sessions_left(of_user uuid, but uuid)
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select count(*) from public.sessions s
  where s.user_id = of_user and s.ended_at is null and s.expires_at > public.service_now() and s.id <> but
$function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.store_database_id()
 RETURNS oid
 LANGUAGE sql
 STABLE
AS $function$
  select oid from pg_database where datname = current_database()
$function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.store_is_same()
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  return exists (select from store_timelines t where t.timeline = store_wal_timeline());
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.store_level_is_same()
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  return exists (select from store_levels t where t.timeline = store_wal_timeline());
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.store_level_state()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  timeline_now text := store_wal_timeline();
begin
  if timeline_now = 'standby' then return 'standby'; end if;
  return case when exists (
    select from store_levels t
    where t.database_id = store_database_id() and t.timeline = timeline_now and t.system_id = store_system_id()
  ) then 'same' else 'new' end;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.store_lowest()
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$select lowest from public.store_levels$function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.store_raised_at()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select max(raised_at) from (
    select raised_at from public.store_levels union all select raised_at from public.store_timelines) raises
$function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.store_raised_by()
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$select raised_by from public.store_levels$function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.store_state()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  timeline_now text := store_wal_timeline();
begin
  if timeline_now = 'standby' then return 'standby'; end if;
  return case when exists (
    select from store_timelines t
    where t.database_id = store_database_id() and t.timeline = timeline_now and t.system_id = store_system_id()
  ) then 'same' else 'new' end;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.store_system_id()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
begin
  return (select system_identifier::text from pg_control_system());
exception
  when insufficient_privilege or feature_not_supported then return '';
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.store_wal_timeline()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
begin
  if pg_is_in_recovery() then return 'standby'; end if;
  return left(pg_walfile_name(pg_current_wal_lsn()), 8);
exception
  -- Storage that replicas share, such as Aurora's, has no WAL; a fail-over loses nothing there.
  when feature_not_supported or object_not_in_prerequisite_state then
    return case when pg_is_in_recovery() then 'standby' else 'none' end;
end $function$
  -- execute: public

CREATE OR REPLACE FUNCTION public.undone_disownings(most integer)
 RETURNS TABLE(user_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select d.user_id from public.disownings d where d.began_at is not null and d.done_at is null order by d.began_at limit most
$function$
  -- execute: keyrail_app

CREATE OR REPLACE FUNCTION public.undone_endings(most integer)
 RETURNS TABLE(workspace_id uuid, maker_type text, maker_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select e.workspace_id, e.maker_type, e.maker_id from public.endings e
  where e.done_at is null order by e.began_at limit most
$function$
  -- execute: keyrail_app
