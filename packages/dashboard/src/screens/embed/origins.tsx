import type { Workspace } from '@keyrail/contract/vendor/workspace'
import { Button, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { updateWorkspace } from '../../api/workspaces.ts'
import { PageForm } from '../../components/form-frames.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { workspaceQuery } from '../workspace/workspace-query.ts'
import classes from './embed.module.css'
import { faultOfOrigin } from './origin-faults.ts'

const originsMax = 20

/** A line for each origin. A fault stands at its line. */
export function Origins({ workspace }: { workspace: Workspace }) {
  const client = useQueryClient()
  const addButton = useRef<HTMLButtonElement>(null)
  const form = useForm({
    mode: 'controlled',
    initialValues: { origins: [...workspace.embed_origins] },
    validate: ({ origins }) =>
      Object.fromEntries(
        origins.map((origin, at) => [
          `origins.${at}`,
          faultOfOrigin(
            origin.trim(),
            origins.slice(0, at).map(one => one.trim()),
          ),
        ]),
      ),
  })
  const { origins } = form.values
  const submission = useFormAction(form, async values => {
    try {
      const next = await updateWorkspace({ body: { embed_origins: values.origins.map(one => one.trim()) } })
      client.setQueryData(workspaceQuery().queryKey, next)
      form.setValues({ origins: [...next.embed_origins] })
      notifications.show({ message: 'The origins are saved.' })
    } catch (error) {
      if (!showAtLine(error)) throw error
    }
  })
  function showAtLine(error: unknown): boolean {
    const faults = error instanceof ApiError ? error.faults : []
    const lines = faults.filter(({ path }) => /^embed_origins\.\d+$/.test(path))
    for (const { path, message } of lines) form.setFieldError(path.replace('embed_', ''), message)
    return lines.length > 0
  }
  return (
    <PageForm
      {...submission}
      submit="Save origins"
      maw={560}
      extra={
        <Button
          ref={addButton}
          variant="default"
          disabled={origins.length >= originsMax}
          onClick={() => form.insertListItem('origins', '')}
        >
          Add origin
        </Button>
      }
    >
      {origins.length === 0 ? (
        <p className={classes.none}>
          No page may use embed tokens yet. Add the origin of yours, such as https://app.example.com.
        </p>
      ) : (
        <ol className={classes.origins}>
          {origins.map((_, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line has no name but its place.
            <li key={at} className={classes.origin}>
              <TextInput
                className={classes.field}
                aria-label={`Origin ${at + 1}`}
                placeholder="https://app.example.com"
                inputMode="url"
                autoComplete="off"
                autoCapitalize="none"
                spellCheck={false}
                maxLength={255}
                {...form.getInputProps(`origins.${at}`)}
              />
              <Button
                variant="default"
                aria-label={`Remove origin ${at + 1}`}
                onClick={() => {
                  form.removeListItem('origins', at)
                  addButton.current?.focus()
                }}
              >
                Remove
              </Button>
            </li>
          ))}
        </ol>
      )}
    </PageForm>
  )
}
