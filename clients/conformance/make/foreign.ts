import { id } from '../../../packages/sdk/test/keys.ts'
import type { Case } from '../case.ts'
import { BEGINS_AT, defaults } from '../run.ts'
import { cold, from, open, opens, save, takesAll } from './disks.ts'
import {
  answers,
  asksDelta,
  asksSnapshot,
  delta,
  one,
  polls,
  record,
  serves,
  snapshot,
  two,
  VERSION,
  verifies,
  workspace,
} from './fixtures.ts'

/** Copies on a disk that are damaged, or were made for something else. */

const refusedFile = ['disk_file_refused']

const damageCases: readonly Case[] = (['cut', 'flip', 'empty'] as const).map(disk => ({
  name: `a saved file with the damage ${disk} is refused and reported, and the node starts without it`,
  from: 'refusals.test.ts',
  open,
  steps: [serves, save, { disk }, opens(1_000, refusedFile), ...cold, ...takesAll(1_000)],
}))

const other = '01930c3e-8f5a-7c31-9b0e-00000000c001'

const foreignCases: readonly Case[] = [
  {
    name: 'a first start has no file, and nothing to report',
    from,
    open,
    steps: [...cold, ...takesAll(0)],
  },
  {
    name: 'nothing was served: nothing is saved',
    from,
    open,
    steps: [save, opens(1_000), ...cold],
  },
  {
    name: 'keys that were saved for another project are not served',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      serves,
      save,
      { do: { op: 'open', project: other, wall: BEGINS_AT + 1_000, uptime: defaults.uptime + 1_000 } },
      ...cold,
    ],
  },
  {
    name: 'keys that were saved for the other environment are not served',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      serves,
      save,
      { do: { op: 'open', env: 'both', wall: BEGINS_AT + 1_000, uptime: defaults.uptime + 1_000 } },
      ...cold,
    ],
  },
  {
    name: 'keys that were saved for other tenants are not served',
    from: 'refusals.test.ts',
    open,
    steps: [
      serves,
      save,
      {
        do: { op: 'open', tenants: [id(0xa001)], wall: BEGINS_AT + 1_000, uptime: defaults.uptime + 1_000 },
      },
      ...cold,
    ],
  },
  {
    name: 'the same project in another workspace: what was saved is forgotten',
    from: 'sync.test.ts',
    open,
    steps: [
      serves,
      save,
      opens(1_000),
      verifies(one, 'valid'),
      answers(
        delta(VERSION, VERSION, [], 1_000, { workspace_id: workspace.replace('d000', 'd001') }),
        asksDelta(VERSION),
      ),
      answers(
        snapshot([record(2)], { workspace_id: workspace.replace('d000', 'd001') }, 1_000, 3),
        asksSnapshot,
      ),
      polls('snapshot'),
      verifies(one, 'unknown_key'),
      verifies(two, 'valid'),
    ],
  },
  {
    name: 'a service that was upgraded since: keys are taken anew',
    from: 'newer.test.ts',
    open,
    steps: [
      serves,
      save,
      opens(1_000),
      answers(
        delta(VERSION, VERSION, [], 1_000, { features: ['external_id', 'key_meta'], tenants: [] }),
        asksDelta(VERSION),
      ),
      answers(
        snapshot([record(1)], { features: ['external_id', 'key_meta'], tenants: [] }, 1_000),
        asksSnapshot,
      ),
      polls('snapshot'),
      verifies(one, 'valid'),
    ],
  },
]

export const foreign: readonly Case[] = [...damageCases, ...foreignCases]
