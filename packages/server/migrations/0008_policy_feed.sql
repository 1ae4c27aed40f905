-- The versions that the nodes of a vendor's fleet report to hold. Not bound to the head by a foreign key: its check
-- would wait for every mutation that locks the head.

create table policy_nodes (
  workspace_id uuid not null,
  project_id uuid not null,
  -- The scope of the node's credential and query; the row makes no statement beyond it.
  sees text not null constraint policy_nodes_sees check (sees in ('live', 'test', 'both')),
  node text not null constraint policy_nodes_node_bounds check (node ~ '^[A-Za-z0-9._:-]{1,128}$'),
  -- 0: seen, and not known to hold anything yet.
  version bigint not null constraint policy_nodes_version check (version >= 0),
  seen_at timestamptz(3) not null,
  primary key (workspace_id, project_id, sees, node)
);

-- Records reports of many nodes at once, in their order, and returns the positions of the recorded ones. Invented
-- versions and projects are ignored. A project keeps at most `most` nodes that see live keys, and `most_test` others; a
-- silent node makes room for a new one.
create function policy_nodes_seen(
  ws uuid[], projects uuid[], sights text[], nodes text[], versions bigint[], most int, most_test int
) returns setof bigint language plpgsql as $$
declare
  fresh record;
  room int;
  kept int;
  moment timestamptz(3) := service_now();
begin
  with said as (
    select distinct on (w, p, s, n) w, p, s, n, v
    from unnest(ws, projects, sights, nodes, versions) with ordinality u(w, p, s, n, v, place)
    order by w, p, s, n, place desc
  )
  update policy_nodes k
    set version = case when said.v = 0 then k.version else said.v end, seen_at = moment
    from said join policy_heads h on h.workspace_id = said.w and h.project_id = said.p and h.version >= said.v
    where k.workspace_id = said.w and k.project_id = said.p and k.sees = said.s and k.node = said.n;

  for fresh in
    with said as (
      select distinct on (w, p, s, n) w, p, s, n, v
      from unnest(ws, projects, sights, nodes, versions) with ordinality u(w, p, s, n, v, place)
      order by w, p, s, n, place desc
    )
    select said.w, said.p, said.s = 'test' as is_test,
      array_agg(said.s) as sights, array_agg(said.n) as nodes, array_agg(said.v) as versions
    from said join policy_heads h on h.workspace_id = said.w and h.project_id = said.p and h.version >= said.v
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
end $$;

alter table policy_nodes enable row level security;
create policy policy_nodes_scope on policy_nodes to keyrail_app using (workspace_id = app_workspace_id());
grant select on policy_nodes to keyrail_app;
