-- Twenty questions of computing, written down before anything was measured: what compiled expressions are judged by.
-- Over `points`, some millions of rows; each question is one pass and gives one row, so that computing is what it costs.
-- A question begins with a line `-- question NAME: what it computes`.

-- data
CREATE TABLE points AS
SELECT i AS id,
       (20.0 + (i * 7919 % 10007) / 125.0)::double precision AS spot,
       (25.0 + (i * 104729 % 9973) / 140.0)::double precision AS strike,
       (0.05 + (i * 31 % 997) / 500.0)::double precision AS years,
       (0.05 + (i * 17 % 499) / 1200.0)::double precision AS spread,
       ((i * 48271 % 180000) / 1000.0 - 90.0)::double precision AS latitude,
       ((i * 69621 % 360000) / 1000.0 - 180.0)::double precision AS longitude,
       (i * 16807 % 100003)::integer AS code,
       (i * 2654435761 % 4294967296)::bigint AS bits,
       (i * 7919 % 1000000 / 100.0)::decimal(15, 2) AS price,
       (i * 13 % 11 / 100.0)::decimal(15, 2) AS discount,
       (i * 29 % 9 / 100.0)::decimal(15, 2) AS tax,
       DATE '1992-01-01' + (i * 37 % 2557)::integer AS shipped,
       DATE '1992-02-01' + (i * 53 % 2557)::integer AS received,
       CASE WHEN i % 10 = 0 THEN NULL ELSE (i * 11 % 1009)::integer END AS gap
FROM generate_series(1, 2000000) AS s(i);

-- question black_scholes: the price of a call, with the normal distribution by a polynomial
SELECT sum(spot * (1.0 - 0.3989422804 * exp(-d1 * d1 / 2.0) * (0.31938153 * k1 - 0.356563782 * k1 * k1 + 1.781477937 * k1 * k1 * k1))
           - strike * exp(-0.03 * years) * (1.0 - 0.3989422804 * exp(-d2 * d2 / 2.0) * (0.31938153 * k2 - 0.356563782 * k2 * k2 + 1.781477937 * k2 * k2 * k2)))
FROM (SELECT spot, strike, years, d1, d2, 1.0 / (1.0 + 0.2316419 * abs(d1)) AS k1, 1.0 / (1.0 + 0.2316419 * abs(d2)) AS k2
      FROM (SELECT spot, strike, years,
                   (ln(spot / strike) + (0.03 + spread * spread / 2.0) * years) / (spread * sqrt(years)) AS d1,
                   (ln(spot / strike) + (0.03 - spread * spread / 2.0) * years) / (spread * sqrt(years)) AS d2
            FROM points));

-- question great_circle: the distance of each point from Berlin
SELECT sum(12742.0 * asin(sqrt(power(sin(radians(latitude - 52.52) / 2.0), 2.0)
           + cos(radians(52.52)) * cos(radians(latitude)) * power(sin(radians(longitude - 13.405) / 2.0), 2.0)))) FROM points;

-- question polynomial_8: a polynomial of the eighth degree by Horner's rule
SELECT sum((((((((0.1 * x + 0.2) * x - 0.3) * x + 0.4) * x - 0.5) * x + 0.6) * x - 0.7) * x + 0.8) * x - 0.9)
FROM (SELECT spot / 100.0 AS x FROM points);

-- question polynomial_of_two: a polynomial of two variables
SELECT sum(0.5 * x * x * x + 1.5 * x * x * y - 2.5 * x * y * y + 3.5 * y * y * y - x * y + x - y + 1.0)
FROM (SELECT spot / 50.0 AS x, strike / 50.0 AS y FROM points);

-- question rotation: points turned around an axis, and their distance from a line
SELECT sum(abs(0.8 * u - 0.6 * v + 3.0)), sum(0.6 * u + 0.8 * v)
FROM (SELECT spot * 0.36 - strike * 0.48 + years AS u, spot * 0.48 + strike * 0.64 - years AS v FROM points);

-- question squared_distance: the squared distance from eight centres, the least of them
SELECT sum(CASE WHEN a < b AND a < c AND a < d THEN a WHEN b < c AND b < d THEN b WHEN c < d THEN c ELSE d END)
FROM (SELECT (spot - 30.0) * (spot - 30.0) + (strike - 30.0) * (strike - 30.0) AS a,
             (spot - 50.0) * (spot - 50.0) + (strike - 40.0) * (strike - 40.0) AS b,
             (spot - 70.0) * (spot - 70.0) + (strike - 60.0) * (strike - 60.0) AS c,
             (spot - 90.0) * (spot - 90.0) + (strike - 80.0) * (strike - 80.0) AS d FROM points);

-- question compound: interest over years by steps, then discounted
SELECT sum(spot * (1.0 + spread / 12.0) * (1.0 + spread / 12.0) * (1.0 + spread / 12.0) * (1.0 + spread / 12.0)
           / (1.0 + years * 0.04) - strike * 0.01) FROM points;

-- question case_ladder: a class of ten by bounds
SELECT sum(CASE WHEN code < 1000 THEN 1 WHEN code < 3000 THEN 2 WHEN code < 7000 THEN 3 WHEN code < 15000 THEN 4
                WHEN code < 25000 THEN 5 WHEN code < 40000 THEN 6 WHEN code < 55000 THEN 7 WHEN code < 70000 THEN 8
                WHEN code < 85000 THEN 9 ELSE 10 END) FROM points;

-- question case_of_doubles: a piecewise tax
SELECT sum(CASE WHEN spot < 30.0 THEN spot * 0.1 WHEN spot < 50.0 THEN 3.0 + (spot - 30.0) * 0.2
                WHEN spot < 70.0 THEN 7.0 + (spot - 50.0) * 0.3 WHEN spot < 90.0 THEN 13.0 + (spot - 70.0) * 0.4
                ELSE 21.0 + (spot - 90.0) * 0.5 END) FROM points;

-- question case_of_nulls: a ladder over a column with NULLs, with three-valued conditions
SELECT sum(CASE WHEN gap IS NULL THEN code % 7 WHEN gap > 500 AND code > 50000 THEN gap - 500
                WHEN NOT (gap < 100 OR code < 10000) THEN gap ELSE coalesce(gap, 0) + 1 END) FROM points;

-- question bit_mixing: a finaliser of a hash function on 64 bits
SELECT sum((h # (h >> 16)) & 65535)
FROM (SELECT (g # (g >> 13)) & 1073741823 AS h
      FROM (SELECT ((bits # (bits >> 15)) & 2147483647) * 73244475 AS g FROM points));

-- question bit_fields: fields of a word taken apart and put together
SELECT sum(((bits & 255) << 24) | ((bits & 65280) << 8) | ((bits >> 8) & 65280) | ((bits >> 24) & 255)) FROM points;

-- question integers: arithmetic with a check each, and remainders
SELECT sum((code * 37 + 11) % 1009 + (code + 5) * 3 - code / 7 + abs(code - 50000)) FROM points;

-- question charge: TPC-H's price, discount and tax, in decimals
SELECT sum(price * (1 - discount) * (1 + tax)), sum(price * (1 - discount)), sum(price * discount * tax) FROM points;

-- question margin: decimals with casts and a ladder
SELECT sum(CASE WHEN price > 5000 THEN price * discount WHEN price > 1000 THEN price * tax ELSE price / 4 END) FROM points;

-- question days_late: differences of dates by classes
SELECT sum(CASE WHEN received - shipped > 30 THEN 3 WHEN received - shipped > 7 THEN 2
                WHEN received >= shipped THEN 1 ELSE 0 END * (code % 10)) FROM points;

-- question parts_of_dates: year, month and day as one number
SELECT sum(extract(year FROM shipped) * 10000 + extract(month FROM shipped) * 100 + extract(day FROM shipped)) FROM points;

-- question moved_dates: dates moved and compared
SELECT sum(CASE WHEN shipped + INTERVAL '3 months' > received THEN 1 ELSE 0 END), sum((shipped + 45) - received) FROM points;

-- question filtered_circle: a filter of arithmetic, then values of the rows that pass
SELECT sum(sqrt(x * x + y * y) * 0.5 + x * y)
FROM (SELECT spot - 60.0 AS x, strike - 60.0 AS y FROM points) WHERE x * x + y * y < 900.0 AND x * y > 0.0;

-- question mixed: integers, doubles, dates and truth values in one expression
SELECT sum(CASE WHEN (code % 3 = 0) = (gap > 300) THEN spot * (received - shipped)::double precision ELSE strike - code::double precision / 1000.0 END) FROM points;
