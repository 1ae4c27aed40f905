import classes from './address.module.css'

/** An e-mail address in a table: on one line where it fits, else broken before its @, and hovering shows the whole. */
export function Address({ text }: { readonly text: string }) {
  const at = text.lastIndexOf('@')
  return (
    <span className={classes.address} title={text}>
      {text.slice(0, at)}
      <wbr />
      {text.slice(at)}
    </span>
  )
}
