import type {
  FullNodeExample,
  KeyExample,
  NodeExample,
  Overview,
  TooOldKeys,
} from '@keyrail/contract/vendor/overview'
import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Clip } from '../../components/clip.tsx'
import { figure, heldInWords, shortFigure } from '../../components/figures.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useNames } from '../../components/use-names.ts'
import type { KeyFilters } from '../keys/key-filters.ts'
import classes from './overview.module.css'

/** What a person may want to act on, each with its first examples. */
export function Attention({ attention }: { attention: Overview['needs_attention'] }) {
  const { expiring_keys, unused_keys, endless_keys, nodes_behind, nodes_full } = attention
  // A process of the release before does not count them.
  const { unverified_address, too_old_keys = [] } = attention
  const parts = [expiring_keys, unused_keys, endless_keys, nodes_behind, nodes_full]
  if (!unverified_address && too_old_keys.length === 0 && parts.every(isEmpty))
    return <p className={classes.quiet}>Nothing needs attention.</p>
  return (
    <ul className={classes.groups}>
      {unverified_address ? (
        <li className={classes.group}>
          <p className={classes.head}>
            Your e-mail address is not verified
            <Go to="/account">Verify it</Go>
          </p>
        </li>
      ) : null}
      <Group
        {...expiring_keys}
        what={['key expires within 14 days', 'keys expire within 14 days']}
        aside={<ListLink filters={{ status: 'expiring' }}>All of them</ListLink>}
        idOf={({ id }) => id}
        example={key => (
          <KeyLine named={key}>
            Expires <RelativeTime at={key.expires_at} />
          </KeyLine>
        )}
      />
      <Group
        {...unused_keys}
        what={['key was not used for 90 days', 'keys were not used for 90 days']}
        aside={<ListLink filters={{ hygiene: 'idle' }}>All of them</ListLink>}
        idOf={({ id }) => id}
        example={key => (
          <KeyLine named={key}>
            {key.last_used_at === null ? 'Never used' : 'Used '}
            <RelativeTime at={key.last_used_at} never="" />
          </KeyLine>
        )}
      />
      <Group
        {...endless_keys}
        what={['key never expires', 'keys never expire']}
        aside={<ListLink filters={{ hygiene: 'never_expires' }}>All of them</ListLink>}
        idOf={({ id }) => id}
        example={key => (
          <KeyLine named={key}>
            Created <RelativeTime at={key.created_at} />
          </KeyLine>
        )}
      />
      {too_old_keys.map(one => (
        <TooOld key={one.project_id} {...one} />
      ))}
      <Group
        {...nodes_behind}
        what={['node is behind', 'nodes are behind']}
        idOf={({ project_id, node, env }) => `${project_id} ${node} ${env}`}
        example={NodeLine}
      />
      <Group
        {...nodes_full}
        what={['node is nearly full', 'nodes are nearly full']}
        idOf={({ project_id, node, env }) => `${project_id} ${node} ${env}`}
        example={FullNodeLine}
      />
    </ul>
  )
}

/** A count of none may be of the first keys alone. */
const isEmpty = ({ count, capped }: { count: number; capped: boolean }) => count === 0 && !capped

/** The list has the bulk actions. */
function TooOld({ project_id, count, capped }: TooOldKeys) {
  const name = useNames('projects', [project_id])
  return (
    <li className={classes.group}>
      <h3 className={classes.head}>
        {figure(count)}
        {capped ? '+' : ''} {count === 1 ? 'key is' : 'keys are'} older than {name(project_id)} allows
        <ListLink filters={{ hygiene: 'too_old', project: project_id }}>
          {count === 1 ? 'Show the key' : 'All of them'}
        </ListLink>
      </h3>
    </li>
  )
}

/** A link to keys in the environment of this screen. */
const ListLink = ({ filters, children }: { filters: KeyFilters; children: string }) => (
  <Anchor
    underline="always"
    renderRoot={props => <Link to="/keys" search={(now: object) => ({ ...now, ...filters })} {...props} />}
  >
    {children}
  </Anchor>
)

interface GroupProps<Example> {
  readonly count: number
  readonly capped: boolean
  readonly examples: readonly Example[]
  /** For one, and for several. */
  readonly what: readonly [string, string]
  /** Leads to the list of all, with its bulk actions. One has a link of its own. */
  readonly aside?: ReactNode
  readonly idOf: (example: Example) => string
  readonly example: (example: Example) => ReactNode
}

function Group<Example>({ count, capped, examples, what, aside, idOf, example }: GroupProps<Example>) {
  if (isEmpty({ count, capped })) return null
  return (
    <li className={classes.group}>
      <h3 className={classes.head}>
        {figure(count)}
        {capped ? '+' : ''} {what[count === 1 ? 0 : 1]}
        {count === 1 ? null : aside}
      </h3>
      <ul className={classes.examples}>
        {examples.map(one => (
          <li key={idOf(one)} className={classes.example}>
            {example(one)}
          </li>
        ))}
        {count > examples.length ? (
          <li className={classes.quiet}>
            and {figure(count - examples.length)}
            {capped ? '+' : ''} more
          </li>
        ) : null}
      </ul>
    </li>
  )
}

const KeyLine = ({ named, children }: { named: KeyExample; children: ReactNode }) => (
  <>
    <span>
      <Go to={`/keys/${named.id}`}>
        <Clip text={named.name ?? 'Unnamed'} />
      </Go>{' '}
      <code className={classes.mono}>{named.display_prefix}…</code>
    </span>
    <span className={classes.quiet}>{children}</span>
  </>
)

const NodeLine = ({ node, project_id, behind, seen_at }: NodeExample) => (
  <>
    <Go to={`/projects/${project_id}`}>{node}</Go>
    <span className={classes.quiet}>
      {shortFigure(behind)} {behind === 1 ? 'version' : 'versions'} behind, seen <RelativeTime at={seen_at} />
    </span>
  </>
)

const FullNodeLine = ({ node, project_id, held_keys, held_keys_max }: FullNodeExample) => (
  <>
    <Go to={`/projects/${project_id}`}>{node}</Go>
    <span className={classes.quiet}>
      {heldInWords({ held_keys, held_keys_max })} keys. Beyond these it refuses keys, and its next start fails
    </span>
  </>
)

/** A link to another screen, in the environment of this one. */
const Go = ({ to, children }: { to: string; children: ReactNode }) => (
  <Anchor underline="always" renderRoot={props => <Link to={to} {...props} />}>
    {children}
  </Anchor>
)
