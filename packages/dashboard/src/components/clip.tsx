import classes from './clip.module.css'

interface ClipProps {
  readonly text: string
  /** For a column beside many others. */
  readonly isNarrow?: boolean
}

/** A text of any length in a table: on one line where hovering shows the whole, wrapped on a phone. */
export const Clip = ({ text, isNarrow = false }: ClipProps) => (
  <span className={isNarrow ? `${classes.clip} ${classes.narrow}` : classes.clip} title={text}>
    {text}
  </span>
)
