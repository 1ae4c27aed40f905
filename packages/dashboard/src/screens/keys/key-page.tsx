import type { RateLimit } from '@keyrail/contract/shared'
import type { Key } from '@keyrail/contract/vendor/keys'
import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { Anchor, Badge, Button, Group, Skeleton, Stack } from '@mantine/core'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { getKey } from '../../api/keys.ts'
import { getProject } from '../../api/projects.ts'
import { getTenant } from '../../api/tenants.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { Empty } from '../../components/empty.tsx'
import { type Fact, Facts } from '../../components/facts.tsx'
import { limitInWords } from '../../components/limits-in-words.ts'
import { Loaded } from '../../components/loaded.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Section } from '../../components/section.tsx'
import { Stopped } from '../../components/working.tsx'
import { useHasRole } from '../../session/me.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { useAct } from '../../shell/use-act.ts'
import { KeyAudit } from './key-audit.tsx'
import { changesOf, type KeyChange } from './key-changes.ts'
import { KeyDialogs } from './key-dialogs.tsx'
import { endsOf } from './key-ends.tsx'
import { KeyStateBadge } from './key-state.tsx'
import { KeyUsageSection } from './key-usage.tsx'
import { stateOf, titleOf } from './key-words.ts'
import { Lineage, useRelatives } from './lineage.tsx'
import { TestKey } from './test-key.tsx'

const route = getRouteApi('/shell/keys/$keyId')

export function KeyPage() {
  const { keyId } = route.useParams()
  return <OneKey key={keyId} keyId={keyId} />
}

const waiting = (
  <Stack gap="lg">
    <Skeleton h={240} />
    <Skeleton h={160} />
    <Skeleton h={160} />
  </Stack>
)

function OneKey({ keyId }: { readonly keyId: string }) {
  const env = useEnv()
  const query = useQuery({
    queryKey: ['keys', 'one', keyId],
    queryFn: ({ signal }) => getKey({ id: keyId }, { signal }),
  })
  const isShown = query.data?.env === env
  const isEditor = useHasRole('admin')
  return (
    <PageFrame
      title={query.data === undefined || !isShown ? 'Key' : titleOf(query.data)}
      lead={isEditor ? undefined : 'You see this key as a member. An admin or an owner changes it.'}
      action={isEditor ? actionsOf(query, env) : undefined}
    >
      <Loaded query={query} skeleton={waiting} noun="key">
        {key => (key.env === env ? <Known of={key} /> : <OtherEnvironment of={key} />)}
      </Loaded>
    </PageFrame>
  )
}

/** What an editor can do with the key. Its place is kept until the key is there. */
function actionsOf({ data: key, isLoading }: UseQueryResult<Key>, env: Key['env']) {
  if (isLoading) return waitingActions
  return key?.env === env ? <Actions of={key} /> : undefined
}

const waitingActions = <Skeleton h={36} w={420} maw="100%" />

/** Live and test never mix on one page. */
const OtherEnvironment = ({ of: key }: { readonly of: Key }) => (
  <Empty title={`This is a ${key.env} key`}>
    <Button
      variant="default"
      renderRoot={props => (
        <Link
          {...props}
          to="/keys/$keyId"
          params={{ keyId: key.id }}
          search={{ env: key.env === 'test' ? 'test' : undefined }}
        />
      )}
    >
      Show it in {key.env}
    </Button>
  </Empty>
)

function Actions({ of: key }: { readonly of: Key }) {
  const [open, setOpen] = useAct<KeyChange>()
  const relatives = useRelatives(key)
  // A successor that was revoked replaces nothing.
  const isReplaced = key.rotated_to !== null && relatives.data?.successor?.revoked_at == null
  const changes = changesOf(key, isReplaced)
  return (
    <>
      {changes.length === 0 ? null : (
        <Group gap="xs">
          <Button variant="default" onClick={() => setOpen('edit')}>
            Edit
          </Button>
          {changes.includes('rotate') ? <Button onClick={() => setOpen('rotate')}>Rotate key</Button> : null}
          {changes.includes('pause') ? (
            <Button variant="default" onClick={() => setOpen('pause')}>
              Pause key
            </Button>
          ) : null}
          {changes.includes('resume') ? <Button onClick={() => setOpen('resume')}>Resume key</Button> : null}
          <Button variant="outline" color="red" onClick={() => setOpen('revoke')}>
            Revoke key
          </Button>
        </Group>
      )}
      <KeyDialogs of={key} open={open} onClose={() => setOpen(null)} />
    </>
  )
}

function Known({ of: key }: { readonly of: Key }) {
  return (
    <>
      {stateOf(key) === 'Paused' ? (
        <Stopped state="Paused">Your nodes refuse this key until someone resumes it.</Stopped>
      ) : null}
      <Section title="Facts">
        <KeyFacts of={key} />
      </Section>
      {Object.keys(key.meta).length === 0 ? null : (
        <Section title="Metadata">
          <CodeBlock label="Metadata" samples={[{ name: 'JSON', code: JSON.stringify(key.meta, null, 2) }]} />
        </Section>
      )}
      <TestKey of={key} />
      <KeyUsageSection id={key.id} />
      {key.rotated_from === null && key.rotated_to === null ? null : <Lineage of={key} />}
      <Section title="Changes" lead="Who did what with this key, from the audit log.">
        <KeyAudit of={key} />
      </Section>
    </>
  )
}

function TenantLink({ id, tenant }: { readonly id: string; readonly tenant: Tenant | undefined }) {
  const toTenant = (
    <Anchor
      underline="always"
      renderRoot={props => <Link to="/tenants/$tenantId" params={{ tenantId: id }} {...props} />}
    >
      {tenant?.name ?? tenant?.external_id ?? id}
    </Anchor>
  )
  // Another release of the service may not know suspensions.
  if (tenant?.suspended_at == null) return toTenant
  return (
    <Group gap="xs" component="span">
      {toTenant}
      <Badge variant="default">Suspended</Badge>
    </Group>
  )
}

/** Another release of the service may not know imports. */
const originOf = ({ imported_at, source_id }: Key): Fact[] => [
  ...(imported_at ? [{ label: 'Imported', value: <RelativeTime at={imported_at} /> }] : []),
  ...(source_id ? [{ label: 'Source id', copied: source_id }] : []),
]

function KeyFacts({ of: key }: { readonly of: Key }) {
  const project = useQuery({
    queryKey: ['projects', 'one', key.project_id],
    queryFn: ({ signal }) => getProject({ id: key.project_id }, { signal }),
  })
  const tenant = useQuery({
    queryKey: ['tenants', 'one', key.tenant_id],
    queryFn: ({ signal }) => getTenant({ id: key.tenant_id }, { signal }),
  })
  const { revoked_at, revoked_reason, disabled_at, disabled_reason, disabled_by } = key
  return (
    <Facts
      facts={[
        { label: 'Status', value: <KeyStateBadge of={key} /> },
        { label: 'Created', value: <RelativeTime at={key.created_at} /> },
        ...originOf(key),
        ...(revoked_at === null
          ? []
          : [
              { label: 'Revoked', value: <RelativeTime at={revoked_at} /> },
              { label: 'Reason', value: revoked_reason ?? 'None given' },
            ]),
        ...(disabled_at
          ? [
              { label: 'Paused', value: <RelativeTime at={disabled_at} /> },
              { label: 'Paused by', value: disabled_by === 'tenant' ? 'Your customer' : 'You' },
              { label: 'Reason of the pause', value: disabled_reason ?? 'None given' },
            ]
          : []),
        { label: 'Id', copied: key.id },
        ...endsOf(key, project.data),
        { label: 'Key begins with', copied: key.display_prefix },
        { label: 'Last used', value: <RelativeTime at={key.last_used_at} /> },
        {
          label: 'Tenant',
          value: <TenantLink id={key.tenant_id} tenant={tenant.data} />,
        },
        {
          label: 'Your id',
          ...(tenant.data === undefined ? { value: '…' } : { copied: tenant.data.external_id }),
        },
        { label: 'Tenant id', copied: key.tenant_id },
        {
          label: 'Project',
          value: (
            <Anchor
              underline="always"
              renderRoot={props => (
                <Link to="/projects/$projectId" params={{ projectId: key.project_id }} {...props} />
              )}
            >
              {project.data?.name ?? key.project_id}
            </Anchor>
          ),
        },
        { label: 'Project id', copied: key.project_id },
        {
          label: 'Scopes',
          value: key.scopes.length === 0 ? 'None' : <Scopes names={key.scopes} />,
        },
        {
          label: 'Limits',
          value: <Limits own={key.rate_limits} inherited={project.data?.default_rate_limits} />,
        },
        { label: 'Works from', value: sayNetworks(key.allowed_cidrs, tenant.data?.allowed_cidrs) },
      ]}
    />
  )
}

const Scopes = ({ names }: { readonly names: readonly string[] }) => (
  <Group gap={4}>
    {names.map(name => (
      <Badge key={name} variant="default">
        {name}
      </Badge>
    ))}
  </Group>
)

interface LimitsProps {
  readonly own: readonly RateLimit[] | null
  /** Undefined while it is not known. */
  readonly inherited: readonly RateLimit[] | undefined
}

function Limits({ own, inherited }: LimitsProps) {
  const rules = own ?? inherited
  if (rules === undefined) return <>Those of its project</>
  if (rules.length === 0) return <>{own === null ? 'None, as its project' : 'None'}</>
  return (
    <>
      {rules.map(rule => (
        <div key={rule.id}>{limitInWords(rule)}</div>
      ))}
      {own === null ? <div>Inherited from its project</div> : null}
    </>
  )
}

/** Undefined: the service is of a release that does not know networks, or the tenant is not there yet. */
function sayNetworks(
  own: readonly string[] | null | undefined,
  ofTenant: readonly string[] | undefined,
): string {
  const ranges = own ?? ofTenant ?? []
  const words = ranges.length === 0 ? 'Everywhere' : ranges.join(', ')
  return own === null && ranges.length > 0 ? `${words}, as its tenant` : words
}
