
'use strict';
// Draws a snapshot (docs/snapshot.md). Text reaches the page as text alone, never as markup.

const COLOURS = ['#2f7fc1', '#e69f00', '#009e73', '#d55e00', '#cc79a7', '#56b4e9', '#8c6bb1', '#a6761d'];
const OTHERS = 'other tags';
const ROW = 16;
const MOST_ROWS = 400;
const MOST_TABLE_ROWS = 200;

const at = id => document.getElementById(id);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const create = (name, text, className) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};

let snapshot = null;
const view = { tag: null, pool: null, zoom: 0, block: null, sort: { tags: { column: 1, reversed: false }, sites: { column: 1, reversed: false }, totals: { column: 1, reversed: false } } };

// Numbers as the command prints them.
const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
function bytes(count) {
  let value = Math.abs(count), unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) { value /= 1024; unit++; }
  const digits = unit === 0 || Number.isInteger(value) || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return (count < 0 ? '−' : '') + value.toFixed(digits) + ' ' + (unit === 0 && value === 1 ? 'byte' : UNITS[unit]);
}
const count = number => number.toLocaleString('en-US');
function time(micros) {
  const seconds = micros / 1e6;
  if (seconds < 1e-3) return Math.round(micros) + ' µs';
  if (seconds < 1) return Math.round(seconds * 1e3) + ' ms';
  if (seconds < 120) return (seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)) + ' s';
  if (seconds < 7200) return Math.round(seconds / 60) + ' min';
  return seconds < 172800 ? Math.round(seconds / 3600) + ' h' : Math.round(seconds / 86400) + ' days';
}
const tagName = tag => tag === '' ? '(no tag)' : tag;
/** Characters that would act on the page, such as U+202E, which reverses what follows, are shown as escapes. */
const visible = text => text.replace(/(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu,
  c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
const firstLine = text => text.split('\n', 1)[0].trim();

/** A table of the file as a list of objects. */
function records(table) {
  return table.rows.map(row => {
    const record = {};
    table.columns.forEach((name, i) => { record[name] = row[i]; });
    return record;
  });
}

/** What is drawn, worked out once for each snapshot. */
function read(file) {
  const blocks = records(file.blocks);
  const changes = records(file.history).sort((a, b) => a.micros - b.micros);
  for (const named of [...file.tags, ...file.pools]) named.name = visible(named.name);
  file.types = file.types.map(visible);
  file.sites = file.sites.map(visible);
  file.reason = visible(file.reason);
  file.accelerator = visible(file.accelerator);
  const states = file.states;
  const owners = file.tags.map((tag, i) => ({
    index: i, name: tag.name, live: tag.liveBytes, buffers: tag.liveBuffers, allocated: 0, freed: 0,
    grown: 0, returned: 0, held: 0, quarters: [0, 0, 0, 0], peak: 0, oldest: 0, series: -1, sites: new Map() }));
  changes.forEach((change, i) => {
    const owner = owners[change.tag];
    owner.grown += change.bytes;
    owner.quarters[Math.floor(4 * i / changes.length)] += change.bytes;
    if (change.bytes < 0) { owner.freed++; owner.returned -= change.bytes; } else owner.allocated++;
  });
  // What a leak looks like: it goes on growing, and gives back less than half. Data that is loaded once does not.
  for (const owner of owners) {
    owner.leaks = owner.freed < owner.allocated / 2 && owner.quarters[3] > 0
      && owner.quarters.filter(grown => grown > 0).length >= 3;
  }
  for (const owner of owners) { owner.before = Math.max(0, owner.live - owner.grown); owner.now = owner.before; owner.peak = owner.now; }
  for (const change of changes) {
    const owner = owners[change.tag];
    owner.now = Math.max(0, owner.now + change.bytes);
    owner.peak = Math.max(owner.peak, owner.now);
  }
  const places = new Map(), pools = new Map();
  for (const block of blocks) {
    block.state = states[block.state];
    const pool = pools.get(block.pool) || { pool: block.pool, bytes: 0, live: 0, idle: 0, busy: 0, blocks: 0 };
    pool.bytes += block.bytes; pool[block.state] += block.bytes; pool.blocks++;
    pools.set(block.pool, pool);
    if (block.state !== 'live') continue;
    const owner = owners[block.tag];
    owner.held += block.bytes;
    owner.oldest = Math.max(owner.oldest, block.ageMicros);
    if (file.sites[block.site] !== '') owner.sites.set(block.site, (owner.sites.get(block.site) || 0) + block.bytes);
    const place = places.get(block.site) || { site: block.site, tags: new Set(), bytes: 0, blocks: 0, oldest: 0 };
    place.tags.add(block.tag); place.bytes += block.bytes; place.blocks++;
    place.oldest = Math.max(place.oldest, block.ageMicros);
    places.set(block.site, place);
  }
  for (const owner of owners) {
    owner.site = [...owner.sites].sort((a, b) => b[1] - a[1]).map(entry => file.sites[entry[0]])[0] || '';
  }
  const ranked = [...owners].sort((a, b) => Math.max(b.live, b.peak) - Math.max(a.live, a.peak));
  // What gives nothing back lies at the bottom of the picture, where its slope is seen.
  const shown = ranked.slice(0, COLOURS.length).sort((a, b) => a.returned - b.returned || b.peak - a.peak);
  shown.forEach((owner, i) => { owner.series = i; });
  ranked.slice(COLOURS.length).forEach(owner => { owner.series = COLOURS.length; });
  return { file, blocks, changes, owners, shown, places: [...places.values()], pools: [...pools.values()] };
}

const seriesCount = COLOURS.length + 1;
const seriesColour = series => series < COLOURS.length ? COLOURS[series] : css('--other');
function seriesNames() {
  const names = snapshot.shown.map(owner => tagName(owner.name));
  if (snapshot.owners.length > COLOURS.length) names[COLOURS.length] = OTHERS;
  return names;
}

function fitted(canvas, height) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const width = canvas.parentElement.clientWidth;
  canvas.style.height = height + 'px';
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

// ---- Head -------------------------------------------------------------------------------------

function head() {
  const { file } = snapshot;
  at('accelerator').textContent = file.accelerator;
  const why = file.reason === 'request' ? '' : ', because ' + file.reason;
  at('taken').textContent = 'taken ' + file.time.replace('T', ' ').replace(/\.\d*Z/, ' UTC') + ', '
    + time(file.uptimeMicros) + ' after the manager was made' + why;
  document.title = 'Tidepool memory of ' + file.accelerator;
  const figures = file.statistics;
  const asked = figures.poolHits + figures.poolMisses;
  const rented = figures.totalAllocated - file.tags.reduce((sum, tag) => sum + tag.liveBytes, 0);
  const reserved = (file.reservations || []).reduce((sum, each) => sum + each.bytes, 0);
  const list = [
    ['live', bytes(figures.totalAllocated)], ['peak', bytes(figures.peakUsage)],
    ['idle in pools', bytes(figures.totalPooled)], ['held of the system', bytes(figures.reservedBytes)],
    ['buffers', count(figures.activeBuffers)], ['pool hits', asked ? (100 * figures.poolHits / asked).toFixed(1) + ' %' : 'none yet'],
    ['driver calls', count(figures.driverAllocations)], ['evictions', count(figures.evictions)], ['leaks noticed', count(figures.leaks)],
    ['free on ' + file.accelerator, bytes(file.memory.freeBytes) + (file.memory.freeIsEstimate ? ' (estimate)' : '')],
    ...(rented > 0 ? [['of live, rented arrays', bytes(rented)]] : []),
    ...(figures.spilledBytes ? [['of live, in the spill file', bytes(figures.spilledBytes)]] : []),
    ...(figures.pinnedBytes ? [['page-locked, all managers', bytes(figures.pinnedBytes)]] : []),
    ...(reserved ? [['reserved for jobs', bytes(reserved)]] : []),
  ];
  at('figures').replaceChildren(...list.map(([name, value]) => {
    const item = create('div');
    item.append(create('dt', name), create('dd', value));
    return item;
  }));
  suspect();
}

/** The tag that looks most like a leak. */
function suspect() {
  const first = snapshot.owners.filter(owner => owner.leaks).sort((a, b) => b.grown - a.grown)[0];
  at('suspect').hidden = !first;
  if (!first) return;
  const { changes } = snapshot;
  const span = changes[changes.length - 1].micros - changes[0].micros;
  at('suspect').replaceChildren(
    create('strong', 'Goes on growing: ' + tagName(first.name)),
    document.createTextNode(', by ' + bytes(first.grown) + ' in ' + time(span) + ': ' + count(first.allocated)
      + ' allocated, ' + count(first.freed) + ' freed' + (first.site ? '; most of it at ' + firstLine(first.site) : '') + ' '));
  const show = create('button', 'Show its blocks');
  show.type = 'button';
  show.onclick = () => { choose(first.name); at('blocks-title').scrollIntoView(); };
  at('suspect').append(show);
}

// ---- Memory over time -------------------------------------------------------------------------

let columns = null;

/** For each column of pixels, what the series had when all together had most. */
function sampled(width) {
  const { changes, owners, file } = snapshot;
  const start = changes[0].micros;
  const end = Math.max(file.uptimeMicros, changes[changes.length - 1].micros, start + 1);
  const values = new Float64Array(width * seriesCount);
  const now = new Float64Array(seriesCount);
  const live = owners.map(owner => owner.before);
  let total = 0;
  owners.forEach(owner => { now[owner.series] += owner.before; total += owner.before; });
  let next = 0;
  for (let column = 0; column < width; column++) {
    const until = start + (end - start) * (column + 1) / width;
    values.set(now, column * seriesCount);
    let most = total;
    while (next < changes.length && (changes[next].micros <= until || column === width - 1)) {
      const change = changes[next++];
      const delta = Math.max(change.bytes, -live[change.tag]);
      live[change.tag] += delta;
      now[owners[change.tag].series] += delta;
      total += delta;
      if (total >= most) { most = total; values.set(now, column * seriesCount); }
    }
  }
  return { start, end, values, width };
}

function niceStep(most) {
  let step = 1;
  while (most / step > 5) step *= 2;
  return step;
}

function drawTime() {
  const { changes, file, owners } = snapshot;
  const note = at('time-note');
  at('time').parentElement.hidden = changes.length === 0;
  at('legend').hidden = changes.length === 0;
  if (changes.length === 0) {
    note.textContent = 'No history was kept. Set the option diagnostics=sites, or history=100000, and take another snapshot.';
    columns = null;
    return;
  }
  note.textContent = 'The latest ' + count(changes.length) + ' allocations and frees'
    + (file.forgotten ? '; ' + count(file.forgotten) + ' came before.' : '.');
  const { context, width, height } = fitted(at('time'), 272);
  const left = 70, bottom = 24, top = 8;
  const inner = Math.max(50, Math.floor(width - left - 8));
  columns = sampled(inner);
  columns.left = left;
  let most = 1;
  for (let c = 0; c < inner; c++) {
    let sum = 0;
    for (let s = 0; s < seriesCount; s++) sum += columns.values[c * seriesCount + s];
    most = Math.max(most, sum);
  }
  const y = value => height - bottom - (height - bottom - top) * value / (most * 1.05);
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  const step = niceStep(most);
  for (let value = 0; value <= most; value += step) {
    context.strokeStyle = css('--line');
    context.beginPath(); context.moveTo(left, y(value) + .5); context.lineTo(left + inner, y(value) + .5); context.stroke();
    context.fillStyle = css('--soft');
    context.textAlign = 'right';
    context.fillText(bytes(value), left - 6, y(value));
  }
  const base = new Float64Array(inner);
  for (let s = 0; s < seriesCount; s++) {
    context.beginPath();
    context.moveTo(left, y(base[0]));
    for (let c = 0; c < inner; c++) context.lineTo(left + c, y(base[c]));
    for (let c = inner - 1; c >= 0; c--) {
      base[c] += columns.values[c * seriesCount + s];
      context.lineTo(left + c, y(base[c]));
    }
    context.closePath();
    const faded = view.tag !== null && owners.some(owner => owner.name === view.tag && owner.series !== s);
    context.globalAlpha = faded ? .25 : .9;
    context.fillStyle = seriesColour(s);
    context.fill();
  }
  context.globalAlpha = 1;
  context.fillStyle = css('--soft');
  for (let i = 0; i <= 4; i++) {
    const ago = (columns.end - columns.start) * (4 - i) / 4;
    context.textAlign = i === 0 ? 'left' : i === 4 ? 'right' : 'center';
    context.fillText(i === 4 ? 'now' : time(ago) + ' ago', left + inner * i / 4, height - bottom / 2);
  }
  at('time').setAttribute('aria-label', 'Live bytes by tag over ' + time(columns.end - columns.start)
    + ', at most ' + bytes(most) + '; the table below has the figures');
  at('legend').replaceChildren(...seriesNames().map((name, s) => legendItem(name, seriesColour(s))));
}

function legendItem(name, colour) {
  const item = create('li');
  const swatch = create('span', '', 'swatch');
  swatch.style.background = colour;
  item.append(swatch, document.createTextNode(name.length > 60 ? name.slice(0, 59) + '…' : name));
  return item;
}

function timeTip(event) {
  if (!columns) return hideTip();
  const column = Math.round(event.offsetX - columns.left);
  if (column < 0 || column >= columns.width) return hideTip();
  const names = seriesNames();
  const lines = [];
  let total = 0;
  names.forEach((name, s) => {
    const value = columns.values[column * seriesCount + s];
    total += value;
    if (value > 0) lines.push(bytes(value) + '  ' + name.slice(0, 60));
  });
  const ago = (columns.end - columns.start) * (1 - (column + 1) / columns.width);
  tip(event, time(ago) + ' ago: ' + bytes(total) + '\n' + lines.reverse().join('\n'));
}

// ---- Tables -----------------------------------------------------------------------------------

/** Columns: [heading, what to sort by, text, class, total of all rows]. */
function table(id, heads, rows, isChosen, act) {
  const { column, reversed } = view.sort[id];
  const key = heads[column][1];
  // Words begin with A, numbers with the largest.
  const words = rows.length > 0 && typeof key(rows[0]) === 'string';
  const ascending = words !== reversed;
  rows.sort((a, b) => (ascending ? 1 : -1) * (words ? key(a).localeCompare(key(b)) : key(a) - key(b)));
  const headRow = create('tr');
  heads.forEach(([name, , , className], i) => {
    const cell = create('th', undefined, className);
    const button = create('button', name + (i === column ? (ascending ? ' ▴' : ' ▾') : ''));
    button.type = 'button';
    button.onclick = () => { view.sort[id] = { column: i, reversed: i === column && !reversed }; tables(); };
    cell.setAttribute('aria-sort', i !== column ? 'none' : ascending ? 'ascending' : 'descending');
    cell.append(button);
    headRow.append(cell);
  });
  const body = create('tbody');
  for (const row of rows.slice(0, MOST_TABLE_ROWS)) {
    const line = create('tr');
    line.tabIndex = 0;
    line.setAttribute('aria-selected', String(isChosen(row)));
    line.onclick = () => act(row);
    line.onkeydown = event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); act(row); } };
    heads.forEach(([, , text, className]) => {
      const content = text(row);
      const cell = create('td', content instanceof Node ? undefined : content, className);
      if (content instanceof Node) cell.append(content);
      cell.title = cell.textContent;
      line.append(cell);
    });
    body.append(line);
  }
  if (rows.length > MOST_TABLE_ROWS) {
    const line = create('tr'), cell = create('td', 'and ' + count(rows.length - MOST_TABLE_ROWS) + ' more', 'text');
    cell.colSpan = heads.length;
    line.append(cell);
    body.append(line);
  }
  const header = create('thead');
  header.append(headRow);
  const footRow = create('tr'), footer = create('tfoot');
  footRow.append(...heads.map(([, , , className, total]) => create('td', total ? total(rows) : '', className)));
  footer.append(footRow);
  at(id).replaceChildren(header, body, footer);
}

const all = () => 'all';
const sum = (number, text) => rows => text(rows.reduce((total, row) => total + number(row), 0));
const amount = (name, number) => [name, number, row => bytes(number(row)), undefined, sum(number, bytes)];
const tally = (name, number) => [name, number, row => count(number(row)), undefined, sum(number, count)];

function swatched(owner) {
  const fragment = document.createDocumentFragment();
  const swatch = create('span', '', 'swatch');
  swatch.style.background = seriesColour(owner.series);
  fragment.append(swatch, document.createTextNode(tagName(owner.name)));
  return fragment;
}

function growth(owner) {
  if (snapshot.changes.length === 0) return 'unknown';
  return create('span', (owner.grown > 0 ? '+' : '') + bytes(owner.grown), owner.leaks ? 'grows' : '');
}

function tables() {
  const { file, owners, places } = snapshot;
  const had = owners.filter(owner => owner.live > 0 || owner.allocated + owner.freed > 0);
  table('tags', [
    ['Tag', owner => tagName(owner.name), swatched, 'text tag', all],
    amount('Live', owner => owner.live),
    tally('Buffers', owner => owner.buffers),
    amount('In blocks', owner => owner.held),
    ['Grown', owner => owner.grown, growth],
    tally('Allocated', owner => owner.allocated),
    tally('Freed', owner => owner.freed),
    ['Peak', owner => owner.peak, owner => bytes(Math.max(owner.peak, owner.live))],
    ['Oldest', owner => owner.oldest, owner => owner.oldest ? time(owner.oldest) : ''],
    ['Mostly allocated at', owner => owner.site, owner => firstLine(owner.site), 'text site'],
  ], had, owner => owner.name === view.tag, owner => choose(owner.name === view.tag ? null : owner.name));
  const recorded = places.some(place => file.sites[place.site] !== '');
  at('sites-note').textContent = recorded ? '' : 'Not recorded. Set the option diagnostics=sites.';
  at('sites').hidden = !recorded;
  const placeName = place => firstLine(file.sites[place.site]) || '(not recorded)';
  table('sites', [
    ['Place', placeName, placeName, 'text site', all],
    amount('In blocks', place => place.bytes),
    tally('Blocks', place => place.blocks),
    ['Oldest', place => place.oldest, place => time(place.oldest)],
    ['Tags', place => place.tags.size, place => [...place.tags].slice(0, 3).map(tag => tagName(owners[tag].name)).join(', ')
      + (place.tags.size > 3 ? ' and ' + (place.tags.size - 3) + ' more' : ''), 'text tag'],
  ], places, place => view.block !== null && view.block.site === place.site, place => select(largest(block => block.site === place.site)));
  table('totals', [
    ['Pool', row => poolName(row.pool), row => poolName(row.pool), 'text', all],
    amount('In blocks', row => row.bytes),
    amount('Live', row => row.live),
    amount('Idle', row => row.idle),
    amount('Busy', row => row.busy),
    tally('Blocks', row => row.blocks),
  ], snapshot.pools, row => row.pool === view.pool, row => { view.pool = row.pool; draw(); });
}

const poolName = pool => pool < 0 ? 'no pool: wrapped, mapped, shared, spilled' : snapshot.file.pools[pool].name;

function largest(matches) {
  let found = null;
  for (const block of snapshot.blocks) {
    if (block.state === 'live' && matches(block) && (!found || block.bytes > found.bytes
      || (block.bytes === found.bytes && block.ageMicros > found.ageMicros))) found = block;
  }
  return found;
}

/** Shows one tag among the others, and selects its largest block. */
function choose(tag) {
  view.tag = tag;
  const index = snapshot.owners.findIndex(owner => owner.name === tag);
  view.block = tag === null ? null : largest(block => block.tag === index);
  if (view.block) view.pool = view.block.pool;
  remember();
  draw();
}

// ---- Blocks -----------------------------------------------------------------------------------

let ribbon = null;

/** The blocks of a pool side by side, slab after slab. */
function laidOut(pool) {
  const blocks = snapshot.blocks.filter(block => block.pool === pool)
    .sort((a, b) => a.slab - b.slab || a.offset - b.offset);
  let start = 0, slabEnd = 0, slab = null;
  for (const block of blocks) {
    block.first = block.slab !== slab || pool < 0;
    if (block.first) { start = slabEnd; slab = block.slab; }
    block.from = start + block.offset;
    slabEnd = Math.max(slabEnd, block.from + block.bytes);
  }
  return { pool, blocks, total: slabEnd };
}

function category(block) {
  if (block.state === 'idle') return seriesCount;
  if (block.state === 'busy') return seriesCount + 1;
  return snapshot.owners[block.tag].series;
}

const categoryColour = kind => kind < seriesCount ? seriesColour(kind) : css(kind === seriesCount ? '--idle' : '--busy');

/** Paints each pixel with what has most of its bytes, so that small blocks count as much as large ones. */
function drawMap() {
  ribbon = laidOut(view.pool);
  const { blocks, total } = ribbon;
  const width = Math.max(100, Math.floor(at('map').parentElement.clientWidth));
  const fitting = Math.min(16, Math.max(1, Math.ceil(blocks.length / 4)));
  const rows = total === 0 ? 1 : Math.min(MOST_ROWS, fitting * 2 ** view.zoom);
  const { context } = fitted(at('map'), rows * (ROW + 3));
  ribbon.perRow = Math.max(1, total / rows);
  ribbon.width = width;
  const perPixel = ribbon.perRow / width;
  const kinds = seriesCount + 2;
  const shares = new Float32Array(rows * width * kinds);
  const chosen = snapshot.owners.findIndex(owner => owner.name === view.tag);
  for (const block of blocks) {
    const kind = category(block);
    const end = Math.min((block.from + block.bytes) / perPixel, rows * width);
    for (let pixel = Math.floor(block.from / perPixel); pixel < end; pixel++) {
      const share = Math.min(end, pixel + 1) - Math.max(block.from / perPixel, pixel);
      // The chosen tag is seen however small its part of a pixel is.
      shares[pixel * kinds + kind] += view.tag !== null && block.state === 'live' && block.tag === chosen ? 1000 * share : share;
    }
  }
  const colours = Array.from({ length: kinds }, (_, kind) => categoryColour(kind));
  const bright = view.tag === null ? -1 : chosen < 0 ? -2 : snapshot.owners[chosen].series;
  for (let row = 0; row < rows; row++) {
    let runStart = 0, runKind = -1;
    for (let x = 0; x <= width; x++) {
      let kind = -1, most = 0;
      if (x < width) {
        const first = (row * width + x) * kinds;
        for (let k = 0; k < kinds; k++) if (shares[first + k] > most) { most = shares[first + k]; kind = k; }
      }
      if (kind !== runKind || x === width) {
        if (runKind >= 0) {
          context.globalAlpha = bright === -1 || runKind === bright ? 1 : .25;
          context.fillStyle = colours[runKind];
          context.fillRect(runStart, row * (ROW + 3), x - runStart, ROW);
        }
        runStart = x; runKind = kind;
      }
    }
  }
  context.globalAlpha = 1;
  for (const block of blocks) {
    const wide = block.bytes / perPixel;
    if (!block.first && wide < 4) continue;
    if (block.first && total / perPixel / blocks.length < 1 && wide < 1) continue;
    const row = Math.floor(block.from / ribbon.perRow);
    const x = (block.from - row * ribbon.perRow) / perPixel;
    context.fillStyle = block.first ? css('--tick') : css('--panel');
    context.fillRect(Math.floor(x), row * (ROW + 3), 1, ROW);
  }
  if (view.block && view.block.pool === ribbon.pool) outline(context, view.block, perPixel);
  const states = [['live', 'live, by tag'], ['idle', 'idle'], ['busy', 'busy: staging, other managers']].map(([state, name]) => {
    const those = blocks.filter(block => block.state === state);
    return [state, name + ': ' + count(those.length) + ' of ' + bytes(those.reduce((sum, block) => sum + block.bytes, 0))];
  });
  at('kinds').replaceChildren(...states.map(([state, text]) => {
    if (state === 'live') return create('li', text);
    return legendItem(text, css('--' + state));
  }));
  at('map').setAttribute('aria-label', 'Blocks of the pool: ' + states.map(state => state[1]).join('; '));
}

function outline(context, block, perPixel) {
  context.strokeStyle = css('--tick');
  context.lineWidth = 2.5;
  const last = block.from + Math.max(block.bytes, perPixel * 4);
  for (let row = Math.floor(block.from / ribbon.perRow); row * ribbon.perRow < last; row++) {
    const x = Math.max(0, (block.from - row * ribbon.perRow) / perPixel);
    const end = Math.min(ribbon.width, (last - row * ribbon.perRow) / perPixel);
    context.strokeRect(x, row * (ROW + 3) - 1, Math.max(3, end - x), ROW + 2);
  }
}

function blockAt(event) {
  const row = Math.floor(event.offsetY / (ROW + 3));
  const byte = (row + Math.min(.999999, event.offsetX / ribbon.width)) * ribbon.perRow;
  const { blocks } = ribbon;
  let low = 0, high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (blocks[middle].from <= byte) low = middle; else high = middle - 1;
  }
  const found = blocks[low];
  return found && found.from <= byte && byte < found.from + found.bytes ? found : null;
}

function describe(block) {
  const { file, owners } = snapshot;
  return bytes(block.bytes) + ' ' + block.state
    + (file.types[block.type] ? ' ' + file.types[block.type] + '[' + count(block.length) + ']' : '')
    + (block.state === 'idle' ? '' : '  ' + tagName(owners[block.tag].name).slice(0, 60)) + '  ' + time(block.ageMicros) + ' old';
}

function select(block) {
  if (!block) return;
  view.block = block;
  view.pool = block.pool;
  remember();
  draw();
}

function drawSelected() {
  const { file, owners } = snapshot;
  const block = view.block;
  at('selected-title').textContent = block ? 'Selected block' : 'No block selected';
  const stack = block ? file.sites[block.site] : '';
  at('stack').hidden = !block || block.state === 'idle';
  at('stack').textContent = stack || 'Where it was allocated was not recorded. Set the option diagnostics=sites.';
  const facts = !block ? [] : [
    ['state', block.state],
    ...(block.state === 'idle' ? [] : [['tag', tagName(owners[block.tag].name)]]),
    ...(file.types[block.type] ? [['elements', file.types[block.type] + '[' + count(block.length) + ']']] : []),
    ['size', bytes(block.bytes) + ' (' + count(block.bytes) + ' bytes)'],
    ['age', time(block.ageMicros)],
    ['place', block.pool < 0 ? poolName(block.pool)
      : file.pools[block.pool].name + ', slab ' + block.slab + ', offset ' + count(block.offset)],
  ];
  at('selected-facts').replaceChildren(...facts.flatMap(([name, value]) => [create('dt', name), create('dd', value)]));
}

function pools() {
  const sums = new Map(snapshot.pools.map(each => [each.pool, each.bytes]));
  if (!sums.has(view.pool) && sums.size) view.pool = [...sums].sort((a, b) => b[1] - a[1])[0][0];
  const options = [...sums.keys()].sort((a, b) => a - b).map(pool => {
    const option = create('option', poolName(pool) + ', ' + bytes(sums.get(pool)));
    option.value = String(pool);
    return option;
  });
  at('pool').replaceChildren(...options);
  at('pool').value = String(view.pool);
  at('everything').hidden = view.tag === null;
}

function stepThroughBlocks(event) {
  const step = { ArrowLeft: -1, ArrowUp: -10, ArrowRight: 1, ArrowDown: 10 }[event.key];
  if (!step || !ribbon || ribbon.blocks.length === 0) return;
  event.preventDefault();
  const now = ribbon.blocks.indexOf(view.block);
  select(ribbon.blocks[Math.max(0, Math.min(ribbon.blocks.length - 1, now < 0 ? 0 : now + step))]);
}

// ---- The page ---------------------------------------------------------------------------------

function tip(event, text) {
  const box = at('tip');
  box.textContent = text;
  box.hidden = false;
  box.style.left = Math.min(event.clientX + 14, window.innerWidth - box.offsetWidth - 8) + 'px';
  box.style.top = Math.min(event.clientY + 14, window.innerHeight - box.offsetHeight - 8) + 'px';
}
function hideTip() { at('tip').hidden = true; }

/** The address says what is selected, so that it can be sent to somebody. */
function remember() {
  const parts = new URLSearchParams();
  if (view.tag !== null) parts.set('tag', view.tag);
  if (view.block) parts.set('block', view.block.slab + ':' + view.block.offset);
  history.replaceState(null, '', '#' + parts);
}

function recall() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const tag = parts.has('tag') ? visible(parts.get('tag')) : null;
  if (tag !== null && snapshot.owners.some(owner => owner.name === tag)) choose(tag);
  const [slab, offset] = (parts.get('block') || '').split(':').map(Number);
  const block = snapshot.blocks.find(each => each.slab === slab && each.offset === offset);
  if (block) select(block);
}

function draw() {
  if (!snapshot) return;
  pools();
  drawTime();
  tables();
  drawMap();
  drawSelected();
}

function show(file) {
  const old = view.block;
  snapshot = read(file);
  view.block = old && snapshot.blocks.find(block => block.slab === old.slab && block.offset === old.offset) || null;
  head();
  draw();
}

function trouble(message) {
  at('trouble').textContent = message;
  at('trouble').hidden = !message;
}

let paused = false;
async function follow() {
  let first = true;
  for (;;) {
    if (!paused && !document.hidden) {
      try {
        const answer = await fetch('snapshot.json', { cache: 'no-store' });
        if (!answer.ok) throw new Error('status ' + answer.status);
        show(await answer.json());
        if (first) recall();
        first = false;
        document.body.dataset.state = 'ready';
        trouble('');
      } catch (error) {
        trouble('The program does not answer (' + error.message + '); this is what it said last.');
      }
    }
    await new Promise(resolve => setTimeout(resolve, 1000));
  }
}

window.addEventListener('error', event => trouble('This page failed: ' + event.message));
at('time').addEventListener('mousemove', timeTip);
at('time').addEventListener('mouseleave', hideTip);
at('map').addEventListener('mousemove', event => { const block = blockAt(event); if (block) tip(event, describe(block)); else hideTip(); });
at('map').addEventListener('mouseleave', hideTip);
at('map').addEventListener('click', event => select(blockAt(event)));
at('map').addEventListener('keydown', stepThroughBlocks);
at('pool').addEventListener('change', event => { view.pool = Number(event.target.value); drawMap(); });
at('zoom').addEventListener('input', event => { view.zoom = Number(event.target.value); drawMap(); });
at('everything').addEventListener('click', () => choose(null));
at('pause').addEventListener('click', () => { paused = !paused; at('pause').textContent = paused ? 'Go on' : 'Pause'; });
window.addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);

if (document.body.dataset.source === 'live') {
  at('pause').hidden = false;
  follow();
} else {
  show(JSON.parse(at('data').textContent));
  recall();
  document.body.dataset.state = 'ready';
}
