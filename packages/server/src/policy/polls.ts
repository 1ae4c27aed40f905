import type { FindKey } from '../gate/authenticate.ts'
import { type FindCredential, type SecretKeyRecord, toRecord } from '../gate/lookup.ts'
import type { Principal } from '../gate/principal.ts'
import type { PolicyHead } from '../gate/read-head.ts'
import { requireSame } from '../platform/db/failover/timeline.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { isUuid } from '../platform/http/validate.ts'
import { toHead } from './heads.ts'
import { findPolls } from './sql.ts'

interface Poll {
  /** The SHA-256 of a secret key. */
  digest: Buffer
  /** In lower case. */
  projectId: string
}

/**
 * Finds the secret key of a request of the feed and the head of its project in one statement, for every request.
 * @param find finds the key where the URL names no project in the usual form.
 */
export type PollKeys = (find: FindCredential) => FindKey

/** Most nodes write `project_id` like this. The handler reads every other form, after the gate. */
const projectIn = /[?&]project_id=([\da-f-]{36})(?:&|$)/i

export function openPollKeys(lanes: Lanes): PollKeys {
  const polls = lanes.open<Poll, SecretKeyRecord | null>({
    name: 'policy_poll',
    shares: 'reads',
    statement: findPolls,
    repeatable: true,
    // All nodes of a vendor may poll with one key.
    nameOf: ({ digest, projectId }) => digest.toString('latin1') + projectId,
    values: polls => [polls.map(({ digest }) => digest), polls.map(({ projectId }) => projectId)],
    answers(rows, polls) {
      const found: (SecretKeyRecord | null)[] = polls.map(() => null)
      requireSame(rows[0])
      for (const row of rows) {
        const at = Number(row.place) - 1
        const { projectId } = polls[at] as Poll
        found[at] = { ...toRecord(row), readHead: { projectId, head: toHead(row) } }
      }
      return found
    },
    bytesOf: () => 128,
  })
  return find => ({
    run(digest, deadline, { url = '' }) {
      const projectId = projectIn.exec(url)?.[1]?.toLowerCase()
      return projectId !== undefined && isUuid(projectId)
        ? polls.run({ digest, projectId }, deadline)
        : find.run(digest, deadline)
    },
  })
}

/** @returns null for a project that the workspace does not have; undefined when the head must be read by itself. */
export const headReadWith = ({ readHead }: Principal, projectId: string): PolicyHead | null | undefined =>
  readHead?.projectId === projectId ? readHead.head : undefined
