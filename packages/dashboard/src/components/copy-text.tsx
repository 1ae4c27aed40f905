import { CopyIconButton } from './copy-button.tsx'
import classes from './copy-text.module.css'

interface CopyTextProps {
  readonly text: string
  readonly label: string
}

/** An id or a key in monospace, with a button that copies it. */
export const CopyText = ({ text, label }: CopyTextProps) => (
  <span className={classes.whole}>
    <code className={classes.text}>{text}</code>
    <CopyIconButton text={text} label={label} />
  </span>
)
