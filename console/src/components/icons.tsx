// The console's icons, drawn on a field of 24 units with strokes of the text's colour.
const paths = {
  berth:
    'M12 3v14M12 3a2 2 0 1 0 0 .01M7 9h10M4 14c0 4 4 7 8 7s8-3 8-7M4 14l-1.5 2M4 14l2.4 1.2M20 14l1.5 2M20 14l-2.4 1.2',
  deployments: 'M12 3 4 7v10l8 4 8-4V7zM4 7l8 4 8-4M12 11v10',
  points:
    'M12 7c4.4 0 8-1.1 8-2.5S16.4 2 12 2 4 3.1 4 4.5 7.6 7 12 7zM4 4.500V12c0 1.4 3.6 2.5 8 2.500s8-1.1 8-2.500V4.500M4 12v7.500C4 20.9 7.6 22 12 22s8-1.1 8-2.500V12',
  apps: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 17h6M17 14v6',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c.5-4 3.6-6 8-6s7.5 2 8 6',
  book: 'M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11',
  plus: 'M12 5v14M5 12h14',
  check: 'm5 12.5 4.5 4.500L19 7.5',
  alert: 'M12 4 2.5 20h19zM12 10v4M12 17v.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8v.01',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  out: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  more: 'M12 6v.01M12 12v.01M12 18v.01',
  close: 'M6 6l12 12M18 6 6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  restart: 'M4 12a8 8 0 1 1 2.5 5.800M4 12V6M4 12h6',
  stop: 'M6 6h12v12H6z',
  play: 'M7 4.500v15l12-7.500z',
  up: 'M12 19V6M6 11l6-6 6 6',
  down: 'M12 5v13M6 13l6 6 6-6',
  help: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.7.3-1 .8-1 1.700M12 16.500v.01',
  back: 'M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  pause: 'M8 5v14M16 5v14',
  download: 'M12 4v12M7 11l5 5 5-5M4 20h16',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  leave: 'M14 4H5v16h9M10 12h11M17 8l4 4-4 4',
  globe:
    'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c3 3 3.500 6 3.500 9s-.5 6-3.500 9M12 3c-3 3-3.500 6-3.500 9s.5 6 3.500 9',
  tag: 'M4 4h8l9 9-8 8-9-9zM8.500 8.500v.01',
  shield: 'M12 3 5 6v6c0 5 3 7.500 7 9 4-1.500 7-4 7-9V6zM9 12l2 2 4-4',
  layers: 'm12 4 9 5-9 5-9-5zM3 14l9 5 9-5',
  send: 'M21 3 10 14M21 3l-7 18-4-7-7-4z',
  key: 'M8 15a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 11h9M18 11v4M15 11v3',
} as const;

export type IconName = keyof typeof paths;
export const icon_names = Object.keys(paths) as IconName[];

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width={name === 'more' ? 3 : 1.75}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
