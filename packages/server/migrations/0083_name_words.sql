-- expand
-- The words of names behind the first, so that a search finds each of them by its beginning in the order of an index. The first
-- word is found by the folded name. Triggers keep the words, whatever writes the names.
create table name_words (
  workspace_id uuid not null,
  -- What a search walks: `project`, `tenant`, or `api_key` with its environment, and `revoked` behind it.
  list text not null,
  word text collate "C" not null constraint name_words_word_bounds check (char_length(word) between 1 and 64),
  id uuid not null,
  primary key (workspace_id, list, word, id)
);

alter table name_words enable row level security;
create policy name_words_scope on name_words to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, delete on name_words to keyrail_app;

-- Without a regular expression for each part: a new key would take a hundredth of its time for them. At most eight, so that a
-- row costs a bounded number of others. `platform/prefix.ts` does the same.
create function later_words(name text) returns setof text language sql immutable parallel safe as $$
  select distinct left(part, 64) from (
    select part from unnest(string_to_array(
      translate(lower(name collate "C"), e'\t\u00a0\u2013\u2014\u00b7!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~', repeat(' ', 37)), ' '
    )) with ordinality as parts (part, place)
    where part <> '' and place > 1 order by place limit 8
  ) later
$$;

create function keep_name_words() returns trigger language plpgsql as $$
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
end $$;

create function keep_key_words() returns trigger language plpgsql as $$
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
end $$;

-- A name of letters and digits has no further word, and costs a look at the name.
create trigger projects_words after insert or delete on projects for each row
  execute function keep_name_words('project');
create trigger projects_words_changed after update of name, deleted_at on projects for each row
  when (old.name is distinct from new.name or (old.deleted_at is null) <> (new.deleted_at is null))
  execute function keep_name_words('project');
create trigger tenants_words after insert or delete on tenants for each row
  execute function keep_name_words('tenant');
create trigger tenants_words_changed after update of name, deleted_at on tenants for each row
  when (old.name is distinct from new.name or (old.deleted_at is null) <> (new.deleted_at is null))
  execute function keep_name_words('tenant');
create trigger api_keys_words after insert on api_keys for each row
  when (new.name collate "C" ~ '[^[:alnum:]]') execute function keep_key_words();
create trigger api_keys_words_changed after update of name, revoked_at on api_keys for each row
  when ((old.name is distinct from new.name or (old.revoked_at is null) <> (new.revoked_at is null))
    and concat(old.name, new.name) collate "C" ~ '[^[:alnum:]]')
  execute function keep_key_words();
create trigger api_keys_words_deleted after delete on api_keys for each row
  when (old.name collate "C" ~ '[^[:alnum:]]') execute function keep_key_words();

insert into name_words (workspace_id, list, word, id)
  select p.workspace_id, 'project', word, p.id from projects p, later_words(p.name) word where p.deleted_at is null;
insert into name_words (workspace_id, list, word, id)
  select t.workspace_id, 'tenant', word, t.id from tenants t, later_words(t.name) word where t.deleted_at is null;
insert into name_words (workspace_id, list, word, id)
  select k.workspace_id, 'api_key ' || k.env || case when k.is_revoked then ' revoked' else '' end, word, k.id
  from api_keys k, later_words(k.name) word;
