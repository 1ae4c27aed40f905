-- expand
-- Row-level security turns a wrong workspace or person into "0 rows updated", without an error. A write that ends a right
-- says how many rows it must change, and fails with its transaction otherwise.
create function must_touch(expected bigint, touched bigint) returns void
language plpgsql as $$
begin
  if touched is distinct from expected then
    raise exception 'a write changed % rows in place of %', touched, expected using errcode = 'KR500';
  end if;
end $$;
