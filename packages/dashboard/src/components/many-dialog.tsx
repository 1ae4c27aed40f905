import type { BulkAction, BulkOperation, ChosenKeys, KeyFilter } from '@keyrail/contract/vendor/bulk'
import { Button, Group, Modal, Skeleton, Stack, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { countKeys } from '../api/keys.ts'
import { shownWorkspaceId } from '../session/workspace.ts'
import { counted } from './figures.ts'
import { DialogForm } from './form-frames.tsx'
import { Loaded } from './loaded.tsx'
import { ManyProgress } from './many-progress.tsx'
import { canResume, findPaused, finished, offerToResume, type PausedBefore } from './many-undo.tsx'
import { manyWords, sayMany } from './many-words.ts'
import { ReasonField } from './reason-field.tsx'
import { useOnce } from './use-once.ts'
import { useSending } from './use-sending.ts'

/** Which keys: those of some rows, or all that a filter matches. */
export type Many =
  | { readonly ids: readonly string[]; readonly filter?: never }
  | { readonly ids?: never; readonly filter: KeyFilter }

interface ManyDialogProps {
  readonly action: BulkAction
  readonly of: Many
  /** Where the keys are, after "Pause all keys": "of Globex". */
  readonly where?: string
  readonly isOpen: boolean
  readonly onClose: () => void
  /** The service has accepted the change. */
  readonly onChanged?: () => void
}

/** Changes many keys, after the service has counted them and a person has agreed to the number. */
export const ManyDialog = ({ action, where, isOpen, onClose, ...more }: ManyDialogProps) => (
  <Modal
    opened={isOpen}
    onClose={onClose}
    title={
      more.of.ids === undefined
        ? `${manyWords[action].verb} all keys${where === undefined ? '' : ` ${where}`}`
        : sayMany(action, more.of.ids.length)
    }
    closeButtonProps={{ 'aria-label': 'Close' }}
  >
    <ManyForm action={action} onClose={onClose} {...more} />
  </Modal>
)

/** How many keys the action concerns, and which are paused already, and would be resumed by an undo too. */
const useCounts = (action: BulkAction, of: Many) =>
  useQuery({
    queryKey: ['keys', 'count', shownWorkspaceId(), action, of],
    queryFn: async ({ signal }): Promise<{ count: number; before: PausedBefore }> => {
      const { filter } = of
      if (filter === undefined) {
        const ids = action === 'disable' ? await findPaused(of.ids) : []
        return { count: of.ids.length, before: { count: ids.length, ids } }
      }
      const ask = (action: BulkAction) => countKeys({ body: { action, filter } }, { signal })
      const [{ count }, { count: paused }] = await Promise.all([ask(action), ask('enable')])
      return { count, before: { count: paused, ids: [] } }
    },
    // A key may have been made since the last look.
    staleTime: 0,
    gcTime: 0,
  })

/** What follows the last batch, once: the open dialog sees that end, and so does who waits for it behind a closed one. */
function useEnd(action: BulkAction, of: Many, once: ReturnType<typeof useOnce>) {
  const client = useQueryClient()
  const hasSettled = useRef(false)
  const refresh = () => {
    void client.invalidateQueries({ queryKey: ['keys'] })
    void client.invalidateQueries({ queryKey: ['audit_logs'] })
  }
  const settle = (operation: BulkOperation, before: PausedBefore | undefined) => {
    if (hasSettled.current) return
    hasSettled.current = true
    refresh()
    if (action === 'disable' && before && canResume(of, before) && operation.done > 0)
      offerToResume(client, once, of, operation, before)
  }
  return { refresh, settle }
}

type ManyFormProps = Omit<ManyDialogProps, 'isOpen' | 'where'>

function ManyForm({ action, of, onClose, onChanged }: ManyFormProps) {
  const { call } = manyWords[action]
  const counts = useCounts(action, of)
  const [reason, setReason] = useState('')
  const [typed, setTyped] = useState('')
  const once = useOnce()
  const [begun, setBegun] = useState<BulkOperation | null>(null)
  const [sending, send] = useSending(error => {
    void counts.refetch()
    return error
  })
  const count = counts.data?.count ?? 0
  const ask = sayMany(action, count)
  const isFinal = action === 'revoke'
  const isReady =
    counts.data !== undefined && !counts.isFetching && count > 0 && (!isFinal || typed === ask.toLowerCase())
  // As a person has agreed to them: the lists are read again while the keys change.
  const [before, setBefore] = useState<PausedBefore>()
  const { refresh, settle } = useEnd(action, of, once)
  const change = (event: FormEvent) => {
    event.preventDefault()
    if (!isReady) return
    void send(async () => {
      const chosen: ChosenKeys =
        of.filter === undefined ? { ids: [...of.ids] } : { filter: of.filter, expect: count }
      const body = {
        ...chosen,
        ...(action !== 'enable' && reason.trim() !== '' && { reason: reason.trim() }),
      }
      const operation = await once(call, body, () => ({ body }))
      setBegun(operation)
      onChanged?.()
      refresh()
      setBefore(counts.data?.before)
      // Also once this dialog is closed, since the change goes on. While it is open, it reads on after any fault.
      const followed = async () => settle(await finished(operation), counts.data?.before)
      followed().catch(() => {})
    })
  }
  if (begun !== null)
    return (
      <Stack gap="md">
        <ManyProgress
          of={begun}
          onDone={operation => {
            setBegun(operation)
            settle(operation, before)
          }}
        />
        {action === 'disable' && before && begun.status === 'done' && !canResume(of, before) ? (
          <p>To resume any of them, filter Keys by Paused.</p>
        ) : null}
        <Group justify="flex-end">
          <Button variant="default" data-autofocus onClick={onClose}>
            Done
          </Button>
        </Group>
      </Stack>
    )
  return (
    <DialogForm
      {...sending}
      onSubmit={change}
      submit={ask}
      isFinal={isFinal}
      isReady={isReady}
      onCancel={onClose}
    >
      <ManyFields
        action={action}
        isListed={of.ids !== undefined}
        counts={counts}
        ask={ask}
        reason={reason}
        onReason={setReason}
        typed={typed}
        onTyped={setTyped}
      />
    </DialogForm>
  )
}

interface ManyFieldsProps {
  readonly action: BulkAction
  /** The keys are those of rows, which nobody needs to count. */
  readonly isListed: boolean
  readonly counts: ReturnType<typeof useCounts>
  /** What the button says. */
  readonly ask: string
  readonly reason: string
  readonly onReason: (reason: string) => void
  readonly typed: string
  readonly onTyped: (typed: string) => void
}

const ManyFields = ({ action, isListed, counts, ask, reason, onReason, typed, onTyped }: ManyFieldsProps) => (
  <>
    <Loaded query={counts} skeleton={<Skeleton h={24} />}>
      {({ count }) => (
        <p>
          <strong>
            {count === 0
              ? 'No key is concerned at present.'
              : `${counted(count, 'key')}${isListed ? ' of those that you selected' : ', as the service counts'}.`}
          </strong>
        </p>
      )}
    </Loaded>
    <p>{manyWords[action].lead}</p>
    {action === 'enable' ? null : <ReasonField value={reason} onChange={onReason} />}
    {action === 'revoke' && (counts.data?.count ?? 0) > 0 ? (
      <TextInput
        label={`Type ${ask.toLowerCase()} to confirm`}
        value={typed}
        onChange={event => onTyped(event.currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
      />
    ) : null}
  </>
)
