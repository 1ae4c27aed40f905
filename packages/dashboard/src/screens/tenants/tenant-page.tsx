import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { Button, Group, Skeleton } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type RefObject, useRef, useState } from 'react'
import { getTenant, updateTenant } from '../../api/tenants.ts'
import { UsageDays, UsageTotal } from '../../components/daily-usage.tsx'
import { DeleteProtection } from '../../components/delete-protection.tsx'
import { Facts } from '../../components/facts.tsx'
import { CreateKeyLink, KeysOf } from '../../components/keys-of.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { ManyDialog } from '../../components/many-dialog.tsx'
import { writeMeta } from '../../components/meta-text.ts'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Section } from '../../components/section.tsx'
import { Stopped } from '../../components/working.tsx'
import { useHasRole } from '../../session/me.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import type { TenantAct } from '../../shell/acts.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { useAct } from '../../shell/use-act.ts'
import { EditTenant } from './edit-tenant.tsx'
import { ResumeDialog, SuspendDialog } from './suspend-tenant.tsx'
import { DeleteTenantDialog, EndSessionsDialog, nameOf } from './tenant-dialogs.tsx'

const route = getRouteApi('/shell/tenants/$tenantId')

export function TenantPage() {
  const { tenantId } = route.useParams()
  const isEditor = useHasRole('admin')
  const tenant = useQuery({
    queryKey: ['tenants', 'one', shownWorkspaceId(), tenantId],
    queryFn: ({ signal }) => getTenant({ id: tenantId }, { signal }),
  })
  return (
    <PageFrame
      isNamedLater
      title={tenant.data === undefined ? 'Tenant' : nameOf(tenant.data)}
      {...(isEditor && { action: <CreateKeyLink noun="tenant" id={tenantId} /> })}
      {...(!isEditor && { lead: 'An admin or an owner can change this tenant.' })}
    >
      <Loaded query={tenant} skeleton={<Skeleton h={480} />} noun="tenant">
        {found => <WholeTenant tenant={found} isEditor={isEditor} />}
      </Loaded>
    </PageFrame>
  )
}

function WholeTenant({ tenant, isEditor }: { tenant: Tenant; isEditor: boolean }) {
  const {
    id,
    external_id,
    meta,
    allowed_cidrs = [],
    suspended_at,
    suspended_reason,
    created_at,
    updated_at,
  } = tenant
  const requests = { of: { tenant_id: id }, env: useEnv() }
  const notice = useRef<HTMLDivElement>(null)
  return (
    <>
      {!suspended_at ? null : (
        <Stopped state="Suspended" ref={notice}>
          Your nodes refuse every key of this tenant, live and test.
        </Stopped>
      )}
      <Section title="Facts">
        <Facts
          facts={[
            ...(!suspended_at
              ? []
              : [
                  { label: 'Suspended', value: <RelativeTime at={suspended_at} /> },
                  { label: 'Reason', value: suspended_reason ?? 'None given' },
                ]),
            { label: 'Your id', copied: external_id },
            { label: 'Id', copied: id },
            { label: 'Requests', value: <UsageTotal {...requests} /> },
            {
              label: 'Keys work from',
              value: allowed_cidrs.length === 0 ? 'Everywhere' : allowed_cidrs.join(', '),
            },
            { label: 'Created', value: <RelativeTime at={created_at} /> },
            { label: 'Changed', value: <RelativeTime at={updated_at} /> },
            ...(isEditor ? [] : [{ label: 'Metadata', value: <code>{writeMeta(meta) || 'None'}</code> }]),
          ]}
        />
      </Section>
      <Section title="Keys">
        <KeysOf noun="tenant" id={id} env={requests.env} />
        {isEditor ? <AllKeys tenant={tenant} /> : null}
      </Section>
      <Section title="Requests" lead="As your nodes report them, by UTC day.">
        <UsageDays {...requests} />
      </Section>
      {isEditor ? (
        <>
          <Section title="Edit">
            <EditTenant tenant={tenant} />
          </Section>
          <Section
            title="Embed sessions"
            lead="The browsers of this tenant that manage its keys inside your page."
          >
            <EndSessions tenant={tenant} />
          </Section>
          <Section
            title={suspended_at ? 'Resume' : 'Suspend'}
            lead="A suspended tenant keeps its keys as they are, and your nodes refuse them."
          >
            <Suspension tenant={tenant} notice={notice} />
          </Section>
          <Section title="Delete">
            <DeleteTenant tenant={tenant} />
          </Section>
        </>
      ) : null}
    </>
  )
}

/** Stops all keys of the tenant in the environment that is shown. */
function AllKeys({ tenant }: { tenant: Tenant }) {
  const env = useEnv()
  const [{ action, isOpen }, setAsked] = useState({
    action: 'disable' as 'disable' | 'revoke',
    isOpen: false,
  })
  const ask = (action: 'disable' | 'revoke') => setAsked({ action, isOpen: true })
  return (
    <Group gap="xs" mt="md">
      <Button variant="default" onClick={() => ask('disable')}>
        Pause all keys
      </Button>
      <Button variant="outline" color="red" onClick={() => ask('revoke')}>
        Revoke all keys
      </Button>
      <ManyDialog
        action={action}
        of={{ filter: { tenant_id: tenant.id, env } }}
        where={`of ${nameOf(tenant)} (${env})`}
        isOpen={isOpen}
        onClose={() => setAsked({ action, isOpen: false })}
      />
    </Group>
  )
}

function EndSessions({ tenant }: { tenant: Tenant }) {
  const [act, setAct] = useAct<TenantAct>()
  return (
    <>
      <Button variant="default" onClick={() => setAct('end-sessions')}>
        End all embed sessions
      </Button>
      <EndSessionsDialog of={tenant} isOpen={act === 'end-sessions'} onClose={() => setAct(null)} />
    </>
  )
}

function Suspension({ tenant, notice }: { tenant: Tenant; notice: RefObject<HTMLDivElement | null> }) {
  const [act, setAct] = useAct<TenantAct>()
  const close = () => setAct(null)
  return (
    <>
      {tenant.suspended_at ? (
        <Button variant="default" onClick={() => setAct('resume-tenant')}>
          Resume tenant
        </Button>
      ) : (
        <Button variant="default" onClick={() => setAct('suspend')}>
          Suspend tenant
        </Button>
      )}
      <SuspendDialog of={tenant} isOpen={act === 'suspend'} onClose={close} notice={notice} />
      <ResumeDialog of={tenant} isOpen={act === 'resume-tenant'} onClose={close} />
    </>
  )
}

function DeleteTenant({ tenant }: { tenant: Tenant }) {
  const navigate = route.useNavigate()
  const client = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <DeleteProtection
        noun="tenant"
        isProtected={tenant.delete_protection}
        onChange={async delete_protection => {
          await updateTenant({ id: tenant.id, body: { delete_protection } })
          await client.invalidateQueries({ queryKey: ['tenants'] })
        }}
      >
        <Button
          variant="outline"
          color="red"
          disabled={tenant.delete_protection}
          onClick={() => setAsking(true)}
        >
          Delete tenant
        </Button>
      </DeleteProtection>
      <DeleteTenantDialog
        of={tenant}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onDeleted={() => navigate({ to: '/tenants' })}
      />
    </>
  )
}
