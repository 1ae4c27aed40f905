import { Button, Group, Stack, type StackProps } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import classes from './dialog-end.module.css'
import { Trouble } from './trouble.tsx'
import type { Sending } from './use-sending.ts'

interface FrameProps extends Sending {
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void
  /** The fields. */
  readonly children: ReactNode
  /** The words of the button that sends the form: a verb and a noun. */
  readonly submit: string
}

interface DialogFormProps extends FrameProps {
  readonly onCancel: () => void
  /** Red is only for what cannot be undone. */
  readonly isFinal?: boolean | undefined
  /** False while something is missing or faulty. */
  readonly isReady?: boolean
}

/** A form in a dialog. */
export const DialogForm = ({ onCancel, isFinal, isReady = true, ...frame }: DialogFormProps) => (
  <Frame
    {...frame}
    buttons={
      <div className={classes.end}>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={frame.isBusy} disabled={!isReady} {...(isFinal && { color: 'red' })}>
            {frame.submit}
          </Button>
        </Group>
      </div>
    }
  />
)

interface PageFormProps extends FrameProps, Pick<StackProps, 'maw' | 'mt'> {
  /** False where the page has a more important button. */
  readonly isPrimary?: boolean
  readonly isReady?: boolean
  /** A button before the one that sends the form. */
  readonly extra?: ReactNode
}

/** A form among the other sections of a page. */
export const PageForm = ({
  isPrimary = true,
  isReady = true,
  extra,
  maw = 400,
  mt,
  ...frame
}: PageFormProps) => (
  <Frame
    {...frame}
    stack={{ maw, ...(mt !== undefined && { mt }) }}
    buttons={
      <Group gap="xs">
        {extra}
        <Button
          type="submit"
          loading={frame.isBusy}
          disabled={!isReady}
          {...(!isPrimary && { variant: 'default' })}
        >
          {frame.submit}
        </Button>
      </Group>
    }
  />
)

/** A form that is the whole page, such as the sign-in. */
export const DoorForm = (frame: FrameProps) => (
  <Frame
    {...frame}
    buttons={
      <Button type="submit" loading={frame.isBusy} fullWidth>
        {frame.submit}
      </Button>
    }
  />
)

interface BareFrameProps extends FrameProps {
  readonly buttons: ReactNode
  readonly stack?: Pick<StackProps, 'maw' | 'mt'>
}

const Frame = ({ onSubmit, trouble, children, buttons, stack }: BareFrameProps) => (
  // The form's own rules judge the fields, and their words appear beside them.
  <form onSubmit={onSubmit} noValidate>
    <Stack gap="md" {...stack}>
      {children}
      {trouble === null ? null : <Trouble error={trouble} />}
      {buttons}
    </Stack>
  </form>
)
