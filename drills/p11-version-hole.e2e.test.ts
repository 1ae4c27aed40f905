import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInterleavings } from './harness/feed-interleavings.ts'

const seed = Date.now() % 1_000_000

test(`in any order of transactions, a poll between their steps misses no commit (seed ${seed})`, async () => {
  const { tallies, broken } = await runInterleavings({ cycles: 20, seed })
  assert.deepEqual(broken, [])
  assert.equal(tallies.get('every order of two')?.rounds, 80)
  const sum = (what: 'waited' | 'committed' | 'rolledBack') =>
    [...tallies.values()].reduce((all, tally) => all + tally[what], 0)
  // A few random ones may happen to have none that waits for another.
  for (const what of ['waited', 'committed', 'rolledBack'] as const) assert.ok(sum(what) > 0, what)
})

test('the drill detects versions that are assigned without a lock', async () => {
  const sabotage = `
    create sequence drill_versions minvalue 1000;
    create or replace function policy_changed(of_workspace uuid, of_project uuid, key_ids uuid[]) returns bigint
    language plpgsql as $$
    declare
      next_version bigint := nextval('drill_versions');
    begin
      update policy_heads set version = greatest(version, next_version)
        where project_id in (select project_id from policy_heads
          where workspace_id = of_workspace and project_id = of_project for no key update skip locked);
      insert into policy_changes (workspace_id, project_id, version, key_id)
        select of_workspace, of_project, next_version, key_id from unnest(key_ids) key_id;
      return next_version;
    end $$`
  const { broken } = await runInterleavings({ cycles: 0, seed: 1, sabotage })
  assert.match(broken.join('\n'), /instead of/)
})
