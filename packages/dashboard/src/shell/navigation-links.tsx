import { Link } from '@tanstack/react-router'
import { places, settings } from './navigation.ts'
import classes from './navigation-links.module.css'

type NavigationItem = (typeof places)[number] | (typeof settings)[number]

const NavigationLink = ({ label, to, Icon }: NavigationItem) => (
  <li>
    <Link to={to} className={classes.link} activeOptions={{ exact: to === '/', includeSearch: false }}>
      <Icon />
      {label}
    </Link>
  </li>
)

export const NavigationLinks = () => (
  <nav aria-label="Main">
    <ul className={classes.list}>
      {places.map(place => (
        <NavigationLink key={place.to} {...place} />
      ))}
    </ul>
    <h2 className={classes.group}>Settings</h2>
    <ul className={classes.list}>
      {settings.map(place => (
        <NavigationLink key={place.to} {...place} />
      ))}
    </ul>
  </nav>
)
