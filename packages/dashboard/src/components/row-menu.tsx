import { ActionIcon, Menu } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link } from '@tanstack/react-router'
import { MoreIcon } from '../icons.tsx'
import { copy } from './copy.ts'
import classes from './row-menu.module.css'

interface RowAction {
  readonly label: string
  /** Opens the same dialog as the page of the row does. */
  readonly onChoose: () => void
  /** Red is only for what cannot be undone. */
  readonly isFinal?: boolean
}

interface RowMenuProps {
  /** The name of the row, for people who do not see where the button stands: "Billing". */
  readonly name: string
  /** The page of the row. */
  readonly page: string
  /** Texts to copy, by their names: `id`. */
  readonly copied: Readonly<Record<string, string>>
  /** What the person may do. */
  readonly actions: readonly RowAction[]
}

/** What a person can do with one row of a list. */
export const RowMenu = ({ name, page, copied, actions }: RowMenuProps) => (
  <Menu position="bottom-end" returnFocus>
    <Menu.Target>
      <ActionIcon variant="subtle" color="gray" size="md" aria-label={`Actions for ${name}`}>
        <MoreIcon size={16} />
      </ActionIcon>
    </Menu.Target>
    <Menu.Dropdown>
      <Menu.Item renderRoot={props => <Link to={page} {...props} />}>Open</Menu.Item>
      {Object.entries(copied).map(([what, text]) => (
        <Menu.Item key={what} onClick={() => void copyAndSay(what, text)}>
          Copy {what}
        </Menu.Item>
      ))}
      {actions.length === 0 ? null : <Menu.Divider />}
      {actions.map(({ label, onChoose, isFinal }) => (
        <Menu.Item key={label} onClick={onChoose} {...(isFinal && { className: classes.final })}>
          {label}
        </Menu.Item>
      ))}
    </Menu.Dropdown>
  </Menu>
)

async function copyAndSay(what: string, text: string): Promise<void> {
  const isCopied = await copy(text)
  notifications.show(
    isCopied
      ? { message: `Copied: ${what}` }
      : { color: 'red', title: 'Copying failed', message: `Select it on its page: ${text}` },
  )
}
