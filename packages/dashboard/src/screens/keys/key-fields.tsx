import type { Project } from '@keyrail/contract/vendor/projects'
import { Skeleton, TagsInput, Text, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { listKeys } from '../../api/keys.ts'
import { getProject } from '../../api/projects.ts'
import { getTenant } from '../../api/tenants.ts'
import { type AgeRule, ExpiryField } from './expiry-field.tsx'
import classes from './key-fields.module.css'
import type { KeyFormValues } from './key-form.ts'
import { LimitsChoice } from './limits-choice.tsx'

/** It reads ranges of addresses, which few keys have. */
const NetworksChoice = lazy(async () => ({ default: (await import('./networks-choice.tsx')).NetworksChoice }))

interface KeyFieldsProps {
  readonly form: UseFormReturnType<KeyFormValues>
  /** When the key was last used; null: never, or it is not made yet. */
  readonly lastUsedAt?: string | null
  /** When the key was made; null: it is made with these fields. */
  readonly madeAt?: string | null
}

/** The fields that a key has when it is made, and later. */
export function KeyFields({ form, lastUsedAt = null, madeAt = null }: KeyFieldsProps) {
  const { project_id, tenant_id, scopes, rate_limits, allowed_cidrs, expires_at } = form.getValues()
  const project = useQuery({
    queryKey: ['projects', 'one', project_id],
    queryFn: ({ signal }) => getProject({ id: project_id ?? '' }, { signal }),
    enabled: project_id !== null,
  })
  const tenant = useQuery({
    queryKey: ['tenants', 'one', tenant_id],
    queryFn: ({ signal }) => getTenant({ id: tenant_id ?? '' }, { signal }),
    enabled: tenant_id !== null,
  })
  const { known_scopes: known = [], strict_scopes: isStrict = false } = project.data ?? {}
  const inUse = useScopesInUse(known.length > 0 || isStrict ? null : project_id)
  const unknown = known.length === 0 || isStrict ? [] : scopes.filter(scope => !known.includes(scope))
  return (
    <>
      <TextInput
        label="Name (optional)"
        maxLength={200}
        autoComplete="off"
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
      <TagsInput
        label="Scopes (optional)"
        description={
          isStrict
            ? 'The project refuses other scopes than its own.'
            : 'What the key allows, in the words of your API. Enter adds one.'
        }
        data={known.length > 0 || isStrict ? known : inUse}
        maxTags={64}
        key={form.key('scopes')}
        {...form.getInputProps('scopes')}
      />
      {unknown.length === 0 ? null : (
        <Text size="sm" c="dimmed" role="status" mt={-8}>
          Not among the scopes of the project: {unknown.join(', ')}
        </Text>
      )}
      <ExpiryField
        value={expires_at}
        onChange={at => form.setFieldValue('expires_at', at)}
        error={form.errors.expires_at}
        age={ageRuleOf(project.data, madeAt)}
      />
      <LimitsChoice
        value={rate_limits}
        onChange={next => form.setFieldValue('rate_limits', next)}
        error={form.errors.rate_limits}
        inherited={project.data?.default_rate_limits}
      />
      <Suspense fallback={<Skeleton h={96} />}>
        <NetworksChoice
          value={allowed_cidrs}
          onChange={next => form.setFieldValue('allowed_cidrs', next)}
          error={form.errors.allowed_cidrs}
          inherited={tenant.data?.allowed_cidrs}
          lastUsedAt={lastUsedAt}
        />
      </Suspense>
      <Textarea
        label="Metadata (optional)"
        description="A JSON object that your API gets with each verified key."
        placeholder={'{ "plan": "pro" }'}
        autosize
        minRows={2}
        maxRows={10}
        spellCheck={false}
        classNames={{ input: classes.code }}
        key={form.key('meta')}
        {...form.getInputProps('meta')}
      />
    </>
  )
}

function ageRuleOf(project: Project | undefined, from: string | null): AgeRule | null {
  const { max_key_lifetime_days: days = null, lifetime } = project ?? {}
  return days === null ? null : { days, from, isRefused: lifetime === 'refuse' }
}

/** The scopes of the newest keys of a project, to choose from. */
function useScopesInUse(projectId: string | null): string[] {
  const newest = useQuery({
    queryKey: ['keys', 'scopes', projectId],
    queryFn: ({ signal }) => listKeys({ query: { project_id: projectId ?? '', limit: 50 } }, { signal }),
    enabled: projectId !== null,
  })
  return [...new Set((newest.data?.data ?? []).flatMap(({ scopes }) => scopes))].toSorted()
}
