-- expand
-- How many keys a node holds, of how many it may hold: beyond these it refuses keys, and a new process does not start.
-- Null: a node of an earlier SDK, or one that an earlier release of the service has noted.
alter table policy_nodes add column held_keys int, add column held_keys_max int;

-- As `policy_nodes_seen` with seven parameters, which the release before calls, and with what nodes hold.
create function policy_nodes_seen(
  ws uuid[], projects uuid[], sights text[], nodes text[], versions bigint[], helds int[], held_maxes int[],
  most int, most_test int
) returns setof bigint language plpgsql as $$
begin
  return query select place from policy_nodes_seen(ws, projects, sights, nodes, versions, most, most_test) place;
  update policy_nodes k set held_keys = said.held, held_keys_max = said.held_max
    from (select distinct on (w, p, s, n) w, p, s, n, held, held_max
      from unnest(ws, projects, sights, nodes, helds, held_maxes) with ordinality u(w, p, s, n, held, held_max, place)
      order by w, p, s, n, place desc) said
    where k.workspace_id = said.w and k.project_id = said.p and k.sees = said.s and k.node = said.n
      and (k.held_keys, k.held_keys_max) is distinct from (said.held, said.held_max);
end $$;
