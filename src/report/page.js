// SPDX-License-Identifier: Apache-2.0
// Draws the charts of the data in this page (src/report/report_json.h) with Chart.js.
'use strict';
(() => {
  const runs = JSON.parse(document.getElementById('data').textContent).runs;
  const section = document.getElementById('charts');
  if (!window.Chart || !runs.length) return;
  document.getElementById('none').remove();

  // Okabe and Ito's colours, which the colour-blind tell apart; dashes and markers say the same again.
  const palettes = {
    light: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#000000', '#56b4e9', '#b8a600', '#8c8c8c'],
    dark: ['#56b4e9', '#e69f00', '#1fc79a', '#e59ac4', '#f0e442', '#ffffff', '#4f9fe0', '#ff7a33', '#8c8c8c'],
  };
  const dashes = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4]];
  const markers = ['circle', 'triangle', 'rect', 'cross', 'star', 'rectRot', 'crossRot'];
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const phone = matchMedia('(max-width: 30rem)').matches;
  let printing = false, run = runs[0], device = -1, charts = [];
  const isDark = () => dark.matches && !printing;
  const colour = i => palettes[isDark() ? 'dark' : 'light'][i % palettes.light.length];
  const partNames = ['data', 'forward', 'backward', 'sum', 'optimizer', 'lanes', 'wait', 'network', 'between'];
  const parts = Object.keys(run.devices[0]?.split ?? {}).filter(name => name !== 'exchange')
    .sort((a, b) => partNames.indexOf(a) - partNames.indexOf(b));

  const scaled = (value, unit) => {
    if (value === null || !isFinite(value)) return 'not available';
    const prefixes = ['n', 'µ', 'm', '', 'k', 'M', 'G', 'T'];
    let place = 3;
    while (Math.abs(value) >= 999.5 && place < 7) { value /= 1000; place++; }
    while (value !== 0 && Math.abs(value) < 0.9995 && place > 0) { value *= 1000; place--; }
    return +value.toPrecision(3) + ' ' + prefixes[place] + unit;
  };
  const plain = value => String(+(+value).toPrecision(4));
  const clock = value => {
    const s = Math.round(value), two = n => String(n).padStart(2, '0');
    return s < 60 ? plain(value) + ' s' : s < 3600 ? Math.floor(s / 60) + ':' + two(s % 60)
      : Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) + ':' + two(s % 60);
  };
  const percent = value => plain(100 * value) + ' %';
  const axes = {
    step: {title: 'step', text: value => value.toLocaleString('en')},
    seconds: {title: 'time of training', text: clock},
  };

  const line = (label, xs, ys, i, more) => {
    const every = Math.max(1, Math.round(xs.length / 8));
    return Object.assign({
      label, data: xs.map((x, j) => ({x, y: ys[j]})).filter(p => p.x !== null), borderColor: colour(i),
      backgroundColor: colour(i), borderDash: dashes[i % 5], borderWidth: 1.5, spanGaps: true,
      pointStyle: markers[i % 7], pointHitRadius: 6,
      pointRadius: c => (c.dataIndex + i) % every === 0 ? 3 : 0,
    }, more);
  };
  const epochs = (run, label, axis, ys, i) => line(label, run.epochs[axis], ys, i,
    {pointRadius: 3, borderDash: [2, 2]});

  // Of all runs, each a line; of one alone also how far steps lie apart.
  const course = (axis, name, validation, text) => () => {
    const sets = [];
    runs.forEach((run, i) => {
      const before = runs.length > 1 ? run.name + ' ' : '', many = runs.length > 1 ? 2 * i : 0;
      sets.push(line(before + 'training', run.points[axis], run.points[name], many));
      sets.push(epochs(run, before + 'validation', axis, run.epochs[validation], many + 1));
      if (runs.length === 1 && name === 'loss') {
        const thin = {borderWidth: 0, pointRadius: 0, backgroundColor: colour(0) + '33', pointHitRadius: 0};
        sets.push(line('range within a point', run.points[axis], run.points.loss_most, 0, {...thin, fill: '+1'}));
        sets.push(line('', run.points[axis], run.points.loss_least, 0, thin));
      }
    });
    const log = name === 'loss' && sets.every(set => set.data.every(point => point.y === null || point.y > 0));
    return {sets, axis, text, marks: runs.length === 1, log};
  };
  const middles = (count, from, to) => Array.from({length: count}, (_, i) => from + (i + 0.5) / count * (to - from));
  const overTime = (figure, text) => () => {
    const sets = [];
    run.devices.forEach((one, i) => {
      const ys = one.series[figure];
      if (ys) sets.push(line(one.name, middles(ys.length, 0, run.seconds), ys, i));
    });
    return {sets, axis: 'seconds', text, marks: true, zero: figure !== 'temperature_celsius'};
  };
  const splitOverTime = () => {
    const chosen = device < 0 ? run.devices : [run.devices[device]];
    const count = chosen[0].split[parts[0]].series.length, steps = run.points.step;
    const xs = middles(count, steps[0] ?? 0, steps[steps.length - 1] ?? 0);
    const sets = parts.map((part, i) => line(part, xs, xs.map((_, j) => {
      const seen = chosen.map(one => one.split[part].series[j]).filter(value => value !== null);
      return seen.length ? seen.reduce((a, b) => a + b, 0) / seen.length : null;
    }), i, {fill: i ? '-1' : 'origin', backgroundColor: hatched(i), borderDash: [], borderWidth: 1, pointRadius: 0,
      stack: 'step'}));
    return {sets, axis: 'step', text: value => scaled(value, 's'), stacked: true, zero: true, marks: true};
  };
  // Every second part is hatched, so that neighbours differ without their colours.
  const hatched = i => {
    if (i % 2 === 0) return colour(i);
    const tile = document.createElement('canvas'), pen = tile.getContext('2d');
    tile.width = tile.height = 8;
    pen.fillStyle = colour(i);
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = isDark() ? '#15181c' : '#fff';
    pen.lineWidth = 1.2;
    for (const at of [-8, 0, 8]) { pen.moveTo(at, 8); pen.lineTo(at + 8, 0); }
    pen.stroke();
    return pen.createPattern(tile, 'repeat');
  };
  const splitBars = () => ({
    bars: run.devices.map(one => one.name), axis: 'step', text: value => scaled(value, 's'), stacked: true, zero: true,
    sets: parts.map((part, i) => ({label: part, data: run.devices.map(one => one.split[part].mean),
      backgroundColor: hatched(i), borderColor: isDark() ? '#15181c' : '#fff', borderWidth: 1})),
  });

  const bytes = value => scaled(value, 'B'), rate = value => scaled(value, 'B/s');
  const all = [
    ['Loss against steps', '', course('step', 'loss', 'val_loss', plain)],
    ['Loss against time', '', course('seconds', 'loss', 'val_loss', plain)],
    ['Accuracy against steps', '', course('step', 'accuracy', 'val_accuracy', percent)],
    ['Accuracy against time', '', course('seconds', 'accuracy', 'val_accuracy', percent)],
    ['Learning rate', 'as scheduled', () => ({axis: 'step', text: plain, zero: true, marks: runs.length === 1,
      sets: runs.map((run, i) => line(run.name, run.points.step, run.points.learning_rate, i))})],
    ['Throughput', 'samples a second', () => ({axis: 'seconds', text: value => scaled(value, '/s'), zero: true,
      marks: runs.length === 1, sets: runs.map((run, i) => line(run.name, run.points.seconds,
        run.points.samples_per_second, i))})],
    ['A step’s time on each device', 'mean', splitBars, true],
    ['A step’s time in the course of the run', 'mean of the devices chosen', splitOverTime, true],
    ['Processor', 'cores that shoal kept busy', overTime('cpu_process_seconds', plain), true],
    ['Kept from running', 'by a quota, seconds a second', overTime('cpu_throttled_seconds', plain), true],
    ['Held back', 'by firmware, for heat or voltage: share of the time', overTime('throttled_ratio', percent), true],
    ['Clock', '', overTime('cpu_frequency_hertz', value => scaled(value, 'Hz')), true],
    ['Memory', 'resident', overTime('memory_resident_bytes', bytes), true],
    ['Memory left', 'of the machine or its group', overTime('memory_available_bytes', bytes), true],
    ['Swap', 'in use on the machine', overTime('swap_used_bytes', bytes), true],
    ['Network out', 'by shoal', overTime('network_sent_bytes', rate), true],
    ['Network in', 'by shoal', overTime('network_received_bytes', rate), true],
    ['Temperature', 'hottest sensor', overTime('temperature_celsius', value => plain(value) + ' °C'), true],
    ['Power', '', overTime('power_watts', value => scaled(value, 'W')), true],
  ];

  // Where devices or shares changed: lines with the view's number.
  const marks = {
    id: 'marks',
    afterDatasetsDraw(chart, _, {axis, shown}) {
      const {ctx, chartArea: area, scales: {x}} = chart;
      const views = shown ? run.views.slice(1) : [];
      if (views.length > 100) return;
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = isDark() ? '#a9adb3' : '#5c5c5c';
      ctx.setLineDash([1, 3]);
      ctx.font = '11px sans-serif';
      for (const view of views) {
        const at = x.getPixelForValue(view[axis]);
        if (!(at >= area.left && at <= area.right)) continue;
        ctx.beginPath();
        ctx.moveTo(at, area.top);
        ctx.lineTo(at, area.bottom);
        ctx.stroke();
        if (views.length <= 20) ctx.fillText('v' + view.view, at + 2, area.top + 10);
      }
      ctx.restore();
    },
  };

  const scale = (text, title, zero, stacked, log) => {
    const faint = isDark() ? '#a9adb3' : '#5c5c5c';
    return {type: log ? 'logarithmic' : 'linear', beginAtZero: zero, stacked, title: {display: !!title, text: title, color: faint},
      grid: {color: isDark() ? '#2b3038' : '#e3e5e8', borderColor: faint},
      ticks: {color: faint, maxRotation: 0, autoSkipPadding: 16, maxTicksLimit: phone ? 5 : 8, callback: text}};
  };
  const options = ({bars, axis, text, stacked, zero, marks, log}) => ({
    animation: false, responsive: true, maintainAspectRatio: false, normalized: true,
    parsing: bars ? undefined : false, indexAxis: bars ? 'y' : 'x',
    interaction: {mode: bars ? 'index' : 'nearest', axis: bars ? 'y' : 'x', intersect: false},
    scales: bars
      ? {x: scale(text, '', true, true), y: {...scale(undefined, '', false, true), type: 'category',
        ticks: {color: isDark() ? '#e6e6e6' : '#1b1b1b'}}}
      : {x: {...scale(axes[axis].text, axes[axis].title), bounds: 'data', min: 0}, y: scale(text, '', zero, stacked, log)},
    plugins: {
      marks: {axis, shown: marks},
      legend: {labels: {color: isDark() ? '#e6e6e6' : '#1b1b1b', usePointStyle: !stacked, boxWidth: stacked ? 18 : 8, boxHeight: 8,
        filter: item => item.text !== ''}},
      tooltip: {filter: item => item.dataset.label !== '', callbacks: {
        title: items => bars || !items.length ? items[0]?.label : axes[axis].title + ' ' + axes[axis].text(items[0].parsed.x),
        label: item => item.dataset.label + ': ' + text(bars ? item.parsed.x : item.parsed.y)}},
    },
  });

  // One select of a list, with its label; calls `chosen` with the index.
  const choice = (label, names, chosen) => {
    const box = document.createElement('label'), select = document.createElement('select');
    names.forEach((name, i) => select.add(new Option(name, i)));
    select.addEventListener('change', () => { chosen(+select.value); draw(); });
    box.append(label + ' ', select);
    section.append(box);
    return select;
  };
  const devicesOf = () => ['all devices', ...run.devices.map(one => one.name)];
  let devices;
  if (runs.length > 1)
    choice('Devices of', runs.map(one => one.name), i => {
      run = runs[i];
      device = -1;
      devices.replaceChildren(...devicesOf().map((name, j) => new Option(name, j)));
    });
  devices = choice('A step’s time of', devicesOf(), i => { device = i - 1; });

  const grid = document.createElement('div');
  grid.className = 'charts';
  section.append(grid);
  const draw = () => {
    charts.forEach(chart => chart.destroy());
    charts = [];
    grid.replaceChildren();
    for (const [title, note, build, ofDevices] of all) {
      if (ofDevices && !run.devices.length) continue;
      const built = build();
      if (!built.sets.some(set => set.data.some(point => typeof point === 'object' ? point?.y : point))) continue; // nothing, or nothing but zeros
      const figure = document.createElement('figure'), caption = document.createElement('figcaption');
      const plot = document.createElement('div'), canvas = document.createElement('canvas');
      const small = document.createElement('small');
      const of = built.log ? 'logarithmic' : ofDevices && runs.length > 1 ? (note ? note + ', ' : '') + run.name : note;
      small.textContent = of;
      caption.append(title + ' ', small);
      plot.className = 'plot';
      canvas.setAttribute('role', 'img');
      canvas.setAttribute('aria-label', title + (of ? ', ' + of : '') + ': a chart; the tables have its figures');
      plot.append(canvas);
      figure.append(caption, plot);
      grid.append(figure);
      charts.push(new Chart(canvas, {type: built.bars ? 'bar' : 'line', plugins: [marks],
        data: {labels: built.bars, datasets: built.sets}, options: options(built)}));
    }
  };
  draw();
  dark.addEventListener('change', draw);
  addEventListener('beforeprint', () => { printing = true; draw(); charts.forEach(chart => chart.resize(330, 220)); });
  addEventListener('afterprint', () => { printing = false; draw(); });
})();
